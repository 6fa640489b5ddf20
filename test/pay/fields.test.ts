/**
 * What is sent to providers keeps what they write about each field, and the doubles refuse whatever does not: a real request of ours in
 * which one field is wrong, and everything that an operator and a payer may choose.
 */
import t, { type Test } from 'tap'
import type { CheckoutMethod } from '../../lib/pay/method.ts'
import { newOrderId } from '../../lib/pay/exceptions.ts'
import { RequestSigner } from '../../lib/pay/wechat/signing.ts'
import { signedForm, signedHeaders } from '../../lib/pay/alipay/signing.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { TestClock } from '../support/clock.ts'
import { type Random, seeded } from '../support/random.ts'
import { ALIPAY, type Asks, brokenIn, flatten, isOf, STRIPE, WECHAT } from '../../tools/simulator/pay/fields.ts'
import { isTaken, Providers } from './providers.ts'
import { openShop } from './shop.ts'
import { ACT, passDay } from './support.ts'

type Fields = Record<string, unknown>
const PAGE = 'https://here.example/console/topup?account=abcdefghijklmnopqrst'

async function open(t: Test, change: { title?: string; main?: string } = {}) {
  const clock = new TestClock(Date.now())
  const providers = await Providers.open(t, () => clock.now())
  const section = { ...providers.section(), ...(change.title === undefined ? {} : { title: change.title }) }
  const given = change.main === undefined ? { clock } : { clock, main: change.main }
  const shop = await openShop(t, section, given)
  const account = await shop.store.accounts.create({ name: 'somebody', groups: [], sandbox: true }, ACT)
  const begin = (method: string, amount = '100') => shop.desk.orders.begin(account, method, amount, PAGE, ACT)
  return { providers, shop, account, begin }
}

/** The requests that each double has got. */
const sentTo = ({ alipay, wechat, stripe }: Providers) => ({
  alipay: alipay.sent,
  wechat: wechat.sent,
  card: stripe.sent,
})
const TABLES: Record<string, Readonly<Record<string, Asks>>> = { alipay: ALIPAY, wechat: WECHAT, card: STRIPE }

/** Everything that is ever asked of a provider: orders that are paid, closed, sent back, asked about, disputed, billed. */
async function live(t: Test) {
  const opened = await open(t)
  const { providers, shop, account, begin } = opened
  const MINUTE_MS = 60_000
  // from the morning on, so that all of it happens on one day: the bill of that day names everything
  passDay(shop.clock)
  providers.alipay.slow = true
  for (const method of ['alipay', 'wechat', 'card'] as const) {
    const order = await begin(method)
    if (method === 'alipay') await fetch(order.shown?.redirect as string)
    shop.clock.advance(6_000)
    await shop.desk.orders.look(account, order.id, PAGE)
    t.equal(providers.pay(order), true, method)
    const { headers, body } = providers.message(order)
    const answer = await fetch(`${shop.url}/pay/${method}`, { method: 'POST', headers, body })
    t.ok(isTaken(method, answer.status, await answer.text()), `${method}: taken`)
    t.equal((await shop.desk.refunds.begin(order.id, '40', 'asked for', false, ACT)).kind, 'refund')
    await shop.desk.orders.close(await begin(method), (await shop.desk.methods()).get(method) as CheckoutMethod)
    await begin(method) // nobody pays it
  }
  shop.clock.advance(60 * MINUTE_MS)
  providers.alipay.slow = false
  const lost = await begin('card')
  providers.stripe.fail('POST /v1/checkout/sessions', 'made_500')
  await begin('card')
  shop.clock.advance(6_000)
  await shop.desk.orders.look(account, lost.id, PAGE)
  providers.pay(lost)
  const { stripe } = providers
  for (const event of [
    providers.stripe.ledger.events.find(({ type }) => type === 'checkout.session.completed'),
    stripe.ledger.dispute(lost.providerId as string, { amount: 10 }),
    stripe.ledger.warnOfFraud(lost.providerId as string),
    ...stripe.ledger.events.filter(({ type }) => type === 'refund.created'),
  ])
    await stripe.send(`${shop.url}/pay/card`, event)
  for (let i = 0; i < 40; i++) {
    shop.clock.advance(3 * MINUTE_MS)
    await shop.round()
  }
  passDay(shop.clock)
  await shop.desk.bills(() => false)
  return opened
}

t.test('every request of ours is in the tables, and every row of the tables is of a request of ours', async t => {
  const { providers } = await live(t)
  for (const [method, sent] of Object.entries(sentTo(providers))) {
    const table = TABLES[method] as (typeof TABLES)[string]
    for (const [request, fields] of sent) {
      const asks = table[request]
      t.ok(asks, `${method}: ${request}`)
      t.equal(brokenIn(asks as Asks, fields), null, `${method}: ${request}: ${JSON.stringify(fields).slice(0, 99)}`)
    }
    for (const [request, asks] of Object.entries(table)) {
      const requests = sent.filter(([name]) => name === request)
      t.ok(requests.length > 0, `${method}: ${request} was sent`)
      t.match(asks.source, /^\[[DC]\] \S/)
      const names = requests.flatMap(([, fields]) => flatten(fields).map(([field]) => field))
      for (const [name, rule] of Object.entries(asks.fields))
        if (!rule.optional)
          t.ok(
            names.some(field => isOf(name, field)),
            `${method}: ${request}: ${name}`,
          )
    }
  }
})

t.test('a field that is wrong, missing or unknown is refused in the provider’s own words', async t => {
  const { providers, shop } = await live(t)
  const { alipay, wechat, stripe } = providers
  const keys = {
    privateKey: alipay.keys.app.privateKey,
    publicKey: alipay.keys.alipay.publicKey,
    serials: alipay.serials as never,
  }
  const signer = new RequestSigner({ ...wechat.config, mchid: String(wechat.config.mchid) })
  const numbered = newOrderId(Date.now())
  const id = (path: string) => path.replace(':id', numbered)
  const post = async (url: string, headers: Record<string, string>, method: string, body?: string) => {
    const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
    return `${answer.status} ${await answer.text()}`
  }
  /** Sends a request as ours are sent, signed and whole but for its fields. */
  const SEND: Record<string, (request: string, fields: Fields) => Promise<string>> = {
    alipay: (request, fields) => {
      const isGet = request.startsWith('data/')
      const path = `/v3/alipay/${request}${isGet ? `?${new URLSearchParams(fields as Record<string, string>)}` : ''}`
      const body = isGet ? '' : JSON.stringify(fields)
      const method = isGet ? 'GET' : 'POST'
      const headers = signedHeaders({ appId: alipay.appId, keys }, method, path, body, shop.clock.now())
      return post(`${alipay.url}${path}`, headers, method, isGet ? undefined : body)
    },
    wechat: (request, fields) => {
      const [method, bare] = request.split(' ') as ['GET' | 'POST', string]
      const search = method === 'GET' ? new URLSearchParams(fields as Record<string, string>).toString() : ''
      const path = id(bare) + (search === '' ? '' : `?${search}`)
      const body = method === 'GET' ? '' : JSON.stringify(fields)
      const headers = { authorization: signer.authorization(method, path, body, shop.clock.now()) }
      return post(`${wechat.url}${path}`, headers, method, method === 'GET' ? undefined : body)
    },
    card: (request, fields) => {
      const [method, bare] = request.split(' ') as [string, string]
      const form = new URLSearchParams(
        flatten(fields).map(([field, value]) => {
          const [first, ...rest] = field.split('.') as [string, ...string[]]
          return [first + rest.map(name => `[${name}]`).join(''), String(value)]
        }),
      ).toString()
      const headers = {
        authorization: `Bearer ${stripe.secretKey}`,
        'stripe-version': '2026-10-28.endive',
        ...(method === 'POST'
          ? { 'content-type': 'application/x-www-form-urlencoded', 'idempotency-key': newOrderId(Date.now()) }
          : {}),
      }
      const path = bare.replace(':id', 're_1')
      return post(
        `${stripe.url}${path}${method === 'GET' && form !== '' ? `?${form}` : ''}`,
        headers,
        method,
        method === 'POST' ? form : undefined,
      )
    },
  }
  const REFUSED: Record<string, RegExp> = {
    alipay: /^400 .*"ACQ.INVALID_PARAMETER"/,
    wechat: /^400 .*"PARAM_ERROR"/,
    card: /^400 .*"invalid_request_error"/,
  }
  for (const [method, sent] of Object.entries(sentTo(providers)))
    for (const [request, asks] of Object.entries(TABLES[method] as object) as [string, Asks][]) {
      if (request.startsWith('page') || request.includes('/file')) continue
      const [, whole] = sent.find(([name]) => name === request) as [string, Fields]
      const send = SEND[method] as (typeof SEND)[string]
      const refused = REFUSED[method] as RegExp
      t.match(await send(request, { ...whole, surprise: 'x' }), refused, `${method}: ${request}: unknown`)
      for (const [field, value] of flatten(whole)) {
        const row = Object.entries(asks.fields).find(([name]) => isOf(name, field))
        if (row === undefined) continue
        const [name, rule] = row
        const wrong = with_(whole, field, rule.wrong)
        t.match(
          await send(request, wrong),
          refused,
          `${method}: ${request}: ${field} = ${String(rule.wrong).slice(0, 30)}`,
        )
        if (rule.optional || name.endsWith('*') || value === undefined) continue
        t.match(await send(request, with_(whole, field, undefined)), refused, `${method}: ${request}: without ${field}`)
      }
    }

  const [, page] = alipay.sent.find(([name]) => name === 'page') as [string, Record<string, string>]
  const { sign: _, app_cert_sn: __, alipay_root_cert_sn: ___, ...fields } = page
  const biz = JSON.parse(fields['biz_content'] as string)
  const opened = async (change: object, inside: object = {}) => {
    const timestamp = new Date(shop.clock.now() + 8 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')
    const all = { ...fields, timestamp, biz_content: JSON.stringify({ ...biz, ...inside }), ...change }
    return (await fetch(`${alipay.url}/gateway.do?${signedForm(all as Record<string, string>, keys)}`)).text()
  }
  t.match(await opened({}), /Pay 100.00/)
  for (const [name, rule] of Object.entries(ALIPAY['page']?.fields ?? {}))
    if (name in fields && !['app_id', 'timestamp', 'sign_type'].includes(name))
      t.match(await opened({ [name]: rule.wrong }), /isv.invalid-parameter/, `page: ${name}`)
  for (const [name, rule] of Object.entries(ALIPAY['page.biz_content']?.fields ?? {}))
    t.match(await opened({}, { [name]: rule.wrong }), /isv.invalid-parameter/, `page: biz_content: ${name}`)
  for (const subject of ['API 充值 / API credit', 'R&D', 'a=b', '', 'x'.repeat(257)])
    t.match(await opened({}, { subject }), /isv.invalid-parameter/, `subject ${subject.slice(0, 30)}`)
})

function with_(fields: Fields, path: string, value: unknown): Fields {
  const copy = structuredClone(fields)
  const names = path.split('.')
  const last = names.pop() as string
  let at = copy
  for (const name of names) at = at[name] as Fields
  if (value === undefined) delete at[last]
  else at[last] = value
  return copy
}

const LETTERS = [
  ...'abcXYZ 0123456789._,()-',
  ...'充值模型接口额度一号店铺，。、：（）【】《》「」—·',
  ...'éüñßøКириллицаελληνικάहिन्दीไทยعربىעברית한국어ひらがな',
]
const OTHERS = [...'/=&%+\'"<>#?!@$^*~`|\\{}[];:', '🎉', '👩‍👩‍👧', '𠮷', '\u0000', '\n', '\u202E', '\uFE0F', '\uFEFF']
const textOf = (random: Random, letters: readonly string[], most: number): string =>
  Array.from({ length: random.int(1, most) }, () => random.pick(letters)).join('')

t.test('whatever title an operator may have, every provider takes', async t => {
  const random = seeded(t)
  const { providers, account, shop } = await open(t)
  let taken = 0
  for (let i = 0; i < 400; i++) {
    const title = textOf(random, random.next() < 0.5 ? LETTERS : [...LETTERS, ...OTHERS], random.pick([5, 40, 130]))
    const host = `${textOf(random, [...'abcdefghij0123456789'], 60)}.${textOf(random, [...'abcdefghij-0'], 20)}x.example`
    const form = random.next() < 0.3 ? {} : { title }
    const text = JSON.stringify({ pay: { ...providers.section(), ...form }, public: { main: `https://${host}` } })
    const config = (() => {
      try {
        return parseConfig(text, 'c.yaml', {})
      } catch {
        return null
      }
    })()
    if (config === null) continue
    taken++
    const asked = { subject: config.pay.title, description: config.pay.title, name: config.pay.title }
    for (const [table, request, field] of [
      [ALIPAY, 'trade/precreate', 'subject'],
      [WECHAT, 'POST /v3/pay/transactions/native', 'description'],
      [STRIPE, 'POST /v1/checkout/sessions', 'line_items.0.price_data.product_data.name'],
    ] as const) {
      const rule = table[request]?.fields[field]
      if (!rule?.fits(asked.subject)) t.fail(`${request} does not take ${JSON.stringify(config.pay.title)}`)
    }
  }
  t.ok(taken > 100, `${taken} titles`)
  t.ok(account && shop)
})

t.test('orders of random titles, addresses, amounts and references are taken by every provider', async t => {
  const random = seeded(t)
  for (let i = 0; i < 6; i++) {
    const title = i === 0 ? '充'.repeat(42) : textOf(random, LETTERS, 40).trim().replace(/^$/, 'x')
    const main = `https://${textOf(random, [...'abcdefghij'], 60)}.example.com/${'p'.repeat(random.int(0, 60))}`
    const { providers, shop, begin } = await open(t, Buffer.byteLength(title) <= 127 ? { title, main } : { main })
    for (const method of ['alipay', 'wechat', 'card'] as const) {
      const amount = `${random.int(5, 32_000)}.${random.int(10, 99)}`
      const order = await begin(method, amount)
      t.equal(order.state, 'pending', `${method}: ${title}, ${amount}, ${main}`)
      if (method === 'alipay') t.match(await (await fetch(order.shown?.redirect as string)).text(), /Pay/)
      providers.pay(order)
      shop.clock.advance(20_000)
      await shop.round()
      t.equal((await shop.order(order.id)).state, 'credited')
      const reference = textOf(random, [...LETTERS, ...OTHERS], 190)
      const sent = await shop.desk.refunds.begin(order.id, '1.01', reference || 'x', true, ACT, reference)
      t.not(sent.state, 'released')
    }
    t.same(await shop.exceptions(), [])
    t.same(providers.alipay.forged, [])
  }
})
