/**
 * The payments and the mailbox of `gateway demo`: a top-up by each way from the order to the balance, by providers that are a part of the program. And that
 * nothing but the demo can be paid by them.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { http } from '../../lib/base/http.ts'
import { createLogger } from '../../lib/base/log.ts'
import { Mailer } from '../../lib/operations/people/mail.ts'
import { ConfigError, parseConfig } from '../../lib/config/config.ts'
import { simulatePayments, type SimulatedPayments } from '../../tools/simulator/pay/main.ts'
import { newXpub } from '../../tools/simulator/pay/chain.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/wait.ts'
import { openShop } from './shop.ts'
import { ACT } from './support.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
type Json = Record<string, unknown>

/** Somebody with a browser's cookies. */
class Person {
  readonly #at: string
  #cookie = ''

  constructor(at: string) {
    this.#at = at
  }

  async call(method: string, at: string, body?: object): Promise<Json> {
    const answer = await fetch(`${this.#at}/console/api${at}`, {
      method,
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', cookie: this.#cookie },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const set = answer.headers.getSetCookie().map(line => line.split(';')[0])
    if (set.length > 0) this.#cookie = set.join('; ')
    const text = await answer.text()
    return text === '' ? {} : (JSON.parse(text) as Json)
  }
}

async function startDemo(t: Test, given: NodeJS.ProcessEnv = {}, settings: object = {}) {
  const [main, direct, ops] = [await freePort(), await freePort(), await freePort()]
  const folder = t.testdir({
    'c.yaml': JSON.stringify({
      listen: { main: `127.0.0.1:${main}`, direct: `127.0.0.1:${direct}`, ops: `127.0.0.1:${ops}` },
      store: 'sqlite:data/g.db',
      journal: 'data/journal',
      catalog: path.join(ROOT, 'config/catalog.yaml'),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
      admin_token: '${GATEWAY_ADMIN_TOKEN}',
      ...settings,
    }),
  })
  const { GATEWAY_ADMIN_TOKEN: _, UPSTREAM_KEY: __, ...env } = process.env
  const child = spawn(path.join(ROOT, 'bin/gateway'), ['demo', '--config', 'c.yaml'], {
    cwd: folder,
    env: { ...env, ...given },
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', data => (output += data))
  child.stderr.on('data', data => (output += data))
  await until('the demo runs', () => output.includes('demo.json'))
  const found = (pattern: RegExp) => pattern.exec(output)?.[1] as string
  return {
    folder,
    child,
    at: `http://127.0.0.1:${main}`,
    payer: found(/play the payer at (\S+)/),
    link: found(/first-sign-in#(\S+) +\(the owner/),
    output: () => output,
  }
}

t.test('a newcomer tops up by each way, end to end, and is told that it is simulated', async t => {
  const { at, payer, link, folder, output, child } = await startDemo(t)
  const person = new Person(at)
  await person.call('POST', '/sign-in/link', { token: link })
  const me = await person.call('GET', '/me')
  const [membership] = me['accounts'] as { id: string }[]
  const account = `/accounts/${membership?.id}`
  const methods = await person.call('GET', `${account}/pay-methods`)
  t.equal(methods['payer'], payer)
  t.match(methods['data'], [
    { method: 'alipay', sandbox: true },
    { method: 'wechat', sandbox: true },
    { method: 'card', sandbox: true },
  ])
  const balance = async () => Number((await person.call('GET', `${account}/balance`))['balance'])
  const before = await balance()
  const press = async (action: string, fields: Record<string, string>) => {
    const answer = await fetch(action, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
    return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() }
  }
  for (const method of ['alipay', 'wechat', 'card']) {
    const order = await person.call('POST', `${account}/orders`, { method, amount: '20' })
    t.equal(order['state'], 'pending', JSON.stringify(order))
    if (method === 'alipay') {
      const html = await (await fetch(String(order['redirect']))).text()
      t.match(html, /模拟支付宝：没有真实的钱/)
      const paid = await press(`${new URL(String(order['redirect'])).origin}/pay`, { order: String(order['id']) })
      t.equal(paid.status, 303)
      t.match(paid.location, `${at}/console/topup`)
    } else {
      if (method === 'card') t.match(order['redirect'], `${payer}/card`)
      // where the browser is led, and where the button for a code leads
      const shown = method === 'card' ? String(order['redirect']) : `${payer}/?order=${order['id']}`
      const html = await (await fetch(shown)).text()
      t.match(html, /模拟支付：没有真实的钱/)
      t.equal(html.split('<form').length, 2, 'who pays an order is shown that order and nothing else')
      const id = new RegExp(`name="id" value="([^"]*)">\\s*<p><strong>[^<]*</strong> · <code>${order['id']}`).exec(
        html,
      )?.[1]
      const paid = await press(payer, { way: method, id: id as string })
      t.equal(paid.status, method === 'card' ? 303 : 200, paid.text)
      t.equal((await press(payer, { way: method, id: id as string })).status, 409, 'nobody pays twice')
    }
    const seen = await person.call('GET', `${account}/orders/${order['id']}`)
    t.equal(seen['state'], 'credited', `${method}: by the callback, at once`)
  }
  t.equal(await balance(), before + 60)
  await person.call('POST', `${account}/usdt/address`)
  const { usdt } = (await person.call('GET', `${account}/usdt`)) as {
    usdt: { address: string; rate: { rate: string } }
  }
  const tokens = await (await fetch(`${payer}/?to=${usdt.address}`)).text()
  t.ok(tokens.split('<form').length === 2 && tokens.includes(usdt.address), 'who sends tokens is shown no orders')
  t.equal((await press(`${payer}/send`, { to: usdt.address, amount: '10.5' })).status, 200)
  await until('the transfer is credited', async () => (await balance()) === before + 60 + 10.5 * Number(usdt.rate.rate))
  t.equal((await press(`${payer}/send`, { to: 'nobody', amount: '1' })).status, 409)

  child.kill('SIGHUP')
  await until('the config is read again', () => /"msg":"reload/.test(output()))
  t.equal((await person.call('GET', `${account}/pay-methods`))['payer'], payer, 'a reload keeps them')

  const kept = readdirSync(`${folder}/data`, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.json'),
  )
  const written = [output(), ...kept.map(name => readFileSync(`${folder}/data/${name}`, 'utf8'))].join('\n')
  t.notMatch(written, /PRIVATE KEY|whsec_|sk_test_|xprv/, 'keys of providers stand nowhere')
})

/** The letter as the page of the mailbox shows it. */
const shownTo = async (mailbox: string, email: string): Promise<string | undefined> => {
  const html = await (await fetch(mailbox)).text()
  return html.split('<div class="letter">').find(letter => letter.startsWith(`<p>${email}</p>`))
}

t.test('a newcomer registers by a simulated letter, tops up in a test account and makes a key', async t => {
  const { at, payer, output, child } = await startDemo(t)
  const mailbox = /register +\S+\/console\/register .*at (\S+)\)/.exec(output())?.[1] as string
  t.equal(mailbox, `${payer}/mailbox`)
  t.match(await (await fetch(mailbox)).text(), /模拟邮箱：邮件不会寄出[\s\S]*没有邮件/)
  t.match(await (await fetch(`${at}/console/sign-in`)).text(), /register&quot;:true|"register":true/)
  t.ok((await (await fetch(`${at}/console/register`)).text()).includes(mailbox), 'the page of the sign-up names it')

  child.kill('SIGHUP')
  await until('the config is read again', () => /"msg":"reload/.test(output()))
  const ann = new Person(at)
  const email = 'ann@example.com'
  await ann.call('POST', '/registration', { email })
  await until('the letter', async () => (await shownTo(mailbox, email)) !== undefined)
  const letter = (await shownTo(mailbox, email)) as string
  const link = /<a href="([^"]+)">/.exec(letter)?.[1] as string
  t.ok(link.startsWith(`${at}/console/register#`), link)
  t.ok(output().includes(`simulated letter to ${email}: ${link}`), 'the terminal has it, too')
  const password = 'a long enough sentence'
  await ann.call('POST', '/registration/confirm', { token: link.split('#')[1], name: 'Ann', password })
  const { accounts } = (await ann.call('GET', '/me')) as { accounts: { id: string }[] }
  const account = `/accounts/${accounts[0]?.id}`
  const order = await ann.call('POST', `${account}/orders`, { method: 'alipay', amount: '20' })
  t.equal(order['state'], 'pending', JSON.stringify(order))
  t.match(await (await fetch(String(order['redirect']))).text(), /没有真实的钱/)
  const body = new URLSearchParams({ order: String(order['id']) })
  await fetch(`${new URL(String(order['redirect'])).origin}/pay`, { method: 'POST', body, redirect: 'manual' })
  t.equal(Number((await ann.call('GET', `${account}/balance`))['balance']), 20)
  const { secret } = await ann.call('POST', `${account}/keys`, { name: 'mine', group: 'default' })
  const answer = await fetch(`${at}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  t.equal(answer.status, 200, await answer.text())

  await ann.call('POST', '/resets', { email })
  const reset = new RegExp(`simulated letter to ${email}: ${at}/console/reset#(\\S+)`)
  await until('the second letter', () => reset.test(output()))
  const page = await (await fetch(mailbox)).text()
  t.notOk(page.includes(reset.exec(output())?.[1] as string), 'what lets into a user that exists is on no page')
})

const CLOSED: [what: string, env: NodeJS.ProcessEnv, settings: object][] = [
  ['with a real upstream', { UPSTREAM_KEY: 'real', UPSTREAM_URL: 'http://127.0.0.1:1' }, {}],
  ['where the config says so', {}, { registration: { mode: 'closed' } }],
  ['where the config says that owners invite', {}, { registration: { mode: 'invite' } }],
]
for (const [what, env, settings] of CLOSED)
  t.test(`${what} nobody registers in the demo`, async t => {
    const { at, payer, output } = await startDemo(t, env, settings)
    t.ok(payer, 'payments are simulated all the same')
    t.notMatch(output(), / register /)
    t.match(await new Person(at).call('POST', '/registration', { email: 'ann@example.com' }), {
      error: { message: /nobody can register|不开放注册/ },
    })
  })

t.test('the mailbox is read by no page of another site, and a letter is no markup', async t => {
  const main = 'http://127.0.0.1:1'
  const simulated = await simulatePayments(t, { main, xpub: newXpub(), file: path.join(t.testdir({}), 'chain.json') })
  const { mailbox, smtp } = simulated
  const log = createLogger('silent')
  const mailer = new Mailer({ clock: systemClock, log, smtp: () => smtp })
  const to = 'eve@example.com'
  const link = `${main}/console/register#abc`
  mailer.send({ from: 'x', to, subject: 'x', text: `<script>alert(1)</script> ${link}` })
  mailer.send({ from: 'x', to, subject: 'x', text: 'http://elsewhere.example/console/register#abc' })
  await mailer.idle()
  const html = await (await fetch(mailbox)).text()
  t.ok(html.includes(`<a href="${link}">`))
  t.notMatch(html, /<script>|elsewhere/)
  const status = await new Promise(resolve =>
    http.get(mailbox, { headers: { host: 'evil.example:3998' } }, res => resolve(res.resume().statusCode)),
  )
  t.equal(status, 409, 'under a name that leads here')
})

t.test('a page of another site presses no button of the payer, and a name is no markup', async t => {
  const { payer } = await simulatePayments(t, {
    main: 'http://127.0.0.1:1',
    xpub: newXpub(),
    file: path.join(t.testdir({}), 'chain.json'),
  })
  const cross = { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' }, body: new URLSearchParams({ to: 'x' }) }
  t.equal((await fetch(`${payer}/send`, cross)).status, 409)
  const html = await (await fetch(`${payer}/?to=${encodeURIComponent('"><script>alert(1)</script>')}`)).text()
  t.notMatch(html, /<script>/)
})

/** What a config says, as somebody would write it who copied all that the demo knows. */
const copied = ({ sections: { alipay, wechat, card, usdt } }: SimulatedPayments) => ({ alipay, wechat, card, usdt })

t.test(
  'no config may name the simulated providers: not as they are, not as real ones, not by the environment',
  async t => {
    const simulated = await simulatePayments(t, {
      main: 'http://127.0.0.1:1',
      xpub: newXpub(),
      file: path.join(t.testdir({}), 'chain.json'),
    })
    const sections = copied(simulated)
    const problems = (pay: object, env: NodeJS.ProcessEnv = {}): string => {
      try {
        parseConfig(JSON.stringify({ pay }), 'c.yaml', env)
        return 'taken'
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        return error.message
      }
    }
    for (const [name, section] of Object.entries(sections)) {
      const told = problems({ [name]: section })
      t.match(told, /this is a simulated one, which only `gateway demo` offers/, name)
      t.not(problems({ [name]: { ...section, sandbox: false } }), 'taken', `${name}, as real money`)
    }
    // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
    const byEnv = { ...sections.alipay, app_id: '${APP}' }
    t.match(problems({ alipay: byEnv }, { APP: sections.alipay?.app_id }), /only `gateway demo` offers/)
    const { payer, mailbox } = simulated
    const env = { GATEWAY_PAYER: payer, PAYER: payer, GATEWAY_MAILBOX: mailbox, MAILBOX: mailbox }
    t.match(parseConfig('{}', 'c.yaml', env), { payer: null, mailbox: null }, 'nothing of the environment makes them')
    for (const key of ['payer', 'mailbox', 'sandbox'])
      for (const text of [{ [key]: payer }, { registration: { [key]: true } }])
        t.throws(() => parseConfig(JSON.stringify(text), 'c.yaml', {}), ConfigError, `no config has ${key}`)
  },
)

t.test('copies of the keys under other names are refused by the simulated providers themselves', async t => {
  const simulated = await simulatePayments(t, {
    main: 'http://127.0.0.1:1',
    xpub: newXpub(),
    file: path.join(t.testdir({}), 'chain.json'),
  })
  const { alipay, wechat, card } = copied(simulated)
  const pay = {
    alipay: { ...alipay, app_id: '2021000000000007', seller_id: '2088000000000007' },
    wechat: { ...wechat, mchid: '1900000007', appid: 'wx0000000000000007' },
    card: { ...card, account: 'acct_00000000000007' },
  }
  const shop = await openShop(t, pay)
  const methods = await shop.desk.methods()
  for (const name of ['alipay', 'wechat', 'card'] as const) {
    const begun = await shop.desk.orders.begin(shop.account, name, '20', 'https://here.example/topup', ACT)
    if (name === 'alipay') {
      const html = await (await fetch(String(begun.shown?.redirect))).text()
      t.match(html, /isv\.invalid/, 'its page does not know the application')
    } else t.equal(begun.state, 'failed', name)
    t.equal(methods.get(name)?.sandbox, true)
  }
  t.equal(await shop.balance(), 0)
})
