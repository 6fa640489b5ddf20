/** The walk of one order through a way to pay: what it finds when everything works, and what when something does not. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import type { Clock } from '../../lib/base/clock.ts'
import { examine, type Finding } from '../../lib/pay/doctor.ts'
import type { Order } from '../../lib/terms/pay.ts'
import { certificateOf } from '../support/certificates.ts'
import { BIN } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { until } from '../support/wait.ts'
import { openCard } from './card-support.ts'
import { AlipayDouble, type Fault, keyPair } from './doubles/alipay.ts'
import { openShop, type Shop } from './shop.ts'
import { ACT } from './support.ts'
import { openWechat } from './wechat-support.ts'

const MINUTE_MS = 60_000

interface Walk {
  certificates?: boolean
  section?: object
  faults?: Fault[]
  refund?: boolean
  broke?: boolean
  /** What happens while the doctor waits for the first time. */
  meanwhile?: (alipay: AlipayDouble, id: string) => unknown
}

/** A clock whose waits are over at once, after `meanwhile`. */
const hasty = ({ clock }: Shop, meanwhile: () => unknown): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  soon: fn => clock.soon(fn),
  after(ms, fn) {
    void Promise.resolve(meanwhile()).then(() => {
      clock.advance(ms)
      fn()
    })
    return () => {}
  },
})

/** Walks an order through the shop. `meanwhile` happens while the doctor waits for the first time. */
async function examined(shop: Shop, refund: boolean, meanwhile: (order: Order) => unknown) {
  let order: Order | undefined
  let waits = 0
  const clock = hasty(shop, async () => {
    if (waits++ === 0 && order !== undefined) await meanwhile(order)
  })
  const { desk, store, account, method } = shop
  const given = { service: desk, store, clock, account, method, amount: null, refund, act: ACT, waitMs: 15 * MINUTE_MS }
  const callback = `${shop.url}/pay/${method.name}`
  const found: Finding[] = []
  for await (const finding of examine({ ...given, callback, returnTo: 'https://x.example' })) {
    found.push(finding)
    if (finding.shown === undefined) continue
    order = { ...((await store.pay.orders({ limit: 1 }))[0] as Order), shown: finding.shown }
  }
  const marks = { true: 'ok', false: 'failed', null: 'so' }
  const steps = found.map(({ step, ok }) => `${step} ${marks[String(ok) as 'null']}`).join(', ')
  return { found, steps }
}

async function walk(
  t: Test,
  { certificates = false, section, faults = [], refund = false, broke = false, meanwhile }: Walk,
) {
  const alipay = await AlipayDouble.open(t, certificates)
  const shop = await openShop(t, { alipay: { ...alipay.section, ...section } })
  alipay.ledger.now = () => shop.clock.now()
  alipay.faults.push(...faults)
  alipay.broke = broke
  const { found, steps } = await examined(shop, refund, async ({ id, shown }) => {
    await fetch(shown?.redirect as string)
    await meanwhile?.(alipay, id)
  })
  return { found, steps, shop }
}

const paid = (alipay: AlipayDouble, id: string) => alipay.ledger.pay(id)
const notified = async (alipay: AlipayDouble, id: string) => {
  alipay.ledger.pay(id)
  await alipay.notify(id)
}

t.test('every method', async t => {
  const wechat = await openWechat(t)
  const card = await openCard(t)
  const rows: [shop: Shop, pay: (order: Order) => unknown][] = [
    [
      wechat,
      ({ id }) => {
        wechat.double.pay(id)
        return wechat.deliver(wechat.double.paid(id))
      },
    ],
    [card, ({ providerId }) => card.send(card.stripe.ledger.pay(providerId as string))],
  ]
  for (const [shop, pay] of rows) {
    const { steps } = await examined(shop, true, pay)
    t.match(steps, /^order ok, pay so, callback ok, query ok, credit ok, refund (ok|so)$/, shop.method.name)
    t.equal((await examined(shop, false, () => {})).steps, 'order ok, pay so, close so', shop.method.name)
    t.equal(await shop.balance(), 0, 'the money is frozen or went back')
    t.equal((await shop.store.audit()).ok, true)
  }
})

t.test('what is found', async t => {
  const stranger = keyPair()
  const strange = { alipay_public_key: stranger.publicKey }
  const rows: [name: string, walk: Walk, steps: string, said: RegExp][] = [
    ['all is well', { meanwhile: notified }, 'order ok, pay so, callback ok, query ok, credit ok', /5.000000 CNY/],
    [
      'in certificate mode, with the money back',
      { certificates: true, meanwhile: notified, refund: true },
      'order ok, pay so, callback ok, query ok, credit ok, refund ok',
      /went back/,
    ],
    [
      'Alipay has another certificate',
      { certificates: true, section: { alipay_cert: certificateOf({ subject: '/CN=x', key: stranger.privateKey }) } },
      'order failed',
      /another certificate.*download it/,
    ],
    [
      'and the money goes back',
      { meanwhile: notified, refund: true },
      'order ok, pay so, callback ok, query ok, credit ok, refund ok',
      /went back/,
    ],
    [
      'it is not certain whether it went back',
      { meanwhile: notified, refund: true, broke: true },
      'order ok, pay so, callback ok, query ok, credit ok, refund so',
      /frozen/,
    ],
    [
      'no callback comes',
      { meanwhile: paid },
      'order ok, pay so, pay ok, callback failed, query ok, credit ok',
      /none came to http.*reaches it/,
    ],
    [
      'the money went to another account of the merchant',
      { meanwhile: notified, section: { seller_id: '2088000000000002' } },
      'order ok, pay so, callback ok, query ok, credit failed',
      /merchant.*ids in the config/,
    ],
    ['nobody pays', {}, 'order ok, pay so, close so', /expired/],
    ['the provider is away', { faults: ['drop', 'drop', 'drop', 'drop'] }, 'order failed', /not made/],
    ['an answer gets lost', { faults: ['drop'] }, 'order failed', /the second did not/],
    [
      'our key is not the one that was uploaded',
      { section: { private_key: stranger.privateKey } },
      'order failed',
      /invalid.signature.*keys in the config/i,
    ],
    ['their key is another one', { section: strange }, 'order failed', /not signed.*public key/],
    [
      'the same, where a page needs no request',
      { section: { ...strange, products: ['page'] }, meanwhile: notified },
      'order ok, pay so, query failed, close failed',
      /not signed/,
    ],
  ]
  for (const [name, given, steps, said] of rows) {
    const result = await walk(t, given)
    t.equal(result.steps, steps, name)
    t.match(result.found.map(({ text, check }) => `${text} ${check ?? ''}`).join('\n'), said, name)
    t.equal((await result.shop.store.audit()).ok, true, name)
  }
})

async function run(
  folder: string,
  args: string[],
): Promise<{ child: ChildProcess; output: () => string; code: Promise<number> }> {
  const child = spawn(BIN, ['pay', 'doctor', ...args, '--config', `${folder}/gateway.yaml`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += data))
  return { child, output: () => output, code: once(child, 'close').then(([code]) => code as number) }
}

t.test('the command, beside a gateway that runs', async t => {
  const alipay = await AlipayDouble.open(t)
  const accounts = [
    { name: 'tester', groups: ['default'], sandbox: true },
    { name: 'real', groups: ['default'] },
  ]
  const gateway = await openGateway({
    config: { pay: { alipay: alipay.section } },
    catalog: () => ({ groups: [{ name: 'default' }], models: [], channels: [], accounts, keys: [] }),
  })
  t.teardown(() => gateway.stop())
  const refusals: [args: string[], code: number, text: RegExp][] = [
    [['alipay', '--account', 'tester'], 2, /order of 5\.000000 CNY of test money.*--yes/],
    [['alipay', '--account', 'nobody', '--yes'], 3, /no account nobody/],
    [['alipay', '--account', 'real', '--yes'], 4, /cannot pay with it/],
    [['wechat', '--account', 'tester', '--yes'], 3, /pay\.wechat: not in/],
    [['alipay', '--yes'], 2, /--account/],
    [['alipay', '--account', 'tester', '--amount', '1', '--yes'], 2, /from 5\.00/],
  ]
  for (const [args, code, text] of refusals) {
    const { output, code: ended } = await run(gateway.folder, args)
    t.equal(await ended, code, args.join(' '))
    t.match(output(), text)
  }
  t.equal(alipay.ledger.codes.size, 0, 'nothing was ordered')

  const { output, code } = await run(gateway.folder, ['alipay', '--account', 'tester', '--yes', '--refund'])
  await until('the doctor shows the page', () => /open \S+/.test(output()))
  await fetch(/open (\S+)/.exec(output())?.[1] as string)
  const [order] = [...alipay.ledger.trades.keys()] as [string]
  await fetch(`${alipay.url}/pay`, { method: 'POST', body: new URLSearchParams({ order }), redirect: 'manual' })
  t.equal(await code, 0, output())
  t.match(output(), /^ok\tcallback\tone came to http:\S+\/pay\/alipay/m)
  t.match(output(), /^ok\trefund\t/m)
  t.match(await gateway.admin('GET', '/admin/accounts/tester'), { balance: '0.000000' })
  t.equal(alipay.ledger.balance, 0)
})
