/**
 * A console in which every page has something to show, and the address of every page in it. `names` are all the texts
 * that people and clients choose, so that a test may see what pages make of others.
 */
import type { Test } from 'tap'
import { idAt } from '../../../lib/base/ids.ts'
import { micro } from '../../../lib/base/money.ts'
import type { PageName } from '../../../web/shared/sitemap.ts'
import { applyCatalog } from '../../../lib/operations/catalogue/apply.ts'
import { Invitations } from '../../../lib/operations/people/joining.ts'
import { newLink } from '../../../lib/operations/people/links.ts'
import { UserSessions } from '../../../lib/operations/people/sign-in.ts'
import type { PayMethod, Payment } from '../../../lib/pay/method.ts'
import { parseCatalog } from '../../../lib/catalog-file/catalog.ts'
import type { Order } from '../../../lib/terms/pay.ts'
import type { Person } from '../../../lib/base/people.ts'
import type { Line } from '../../../lib/terms/usage-row.ts'
import type { Account, Key } from '../../../lib/terms/records.ts'
import { AlipayDouble } from '../../pay/doubles/alipay.ts'
import { CLI, newPerson, signedInAs, stranger } from '../../support/people.ts'
import { chargeOfLines } from '../../support/receipt.ts'
import { receiptLine, SETUP, settlement, usageRow } from '../../support/store.ts'
import { type House, openConsole, type PersonClient } from './console.ts'
import { type EndedRequests, everyState } from './every-state.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAYS = 90
/** Enough for the page Status to judge a day. */
const DAILY = 90
const APART_MS = 15 * 60_000
/** The settings under which every page can be reached. */
const SETTINGS = {
  registration: { mode: 'open' },
  smtp: { host: 'mail.example.org', from: 'gateway@example.org' },
}
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36'

export interface Names {
  account: string
  person: string
  key: string
  model: string
  family: string
  vendor: string
  group: string
  channel: string
  reference: string
  note: string
  token: string
  passkey: string
  /** Headers of clients. */
  agent: string
  requestId: string
  /** Where somebody's request came from. */
  address: string
}

export const PLAIN: Names = {
  account: 'Acme Research',
  person: 'Ada Lovelace',
  key: 'build server',
  model: 'alpha-opus-5-5',
  family: 'alpha',
  vendor: 'Alpha Laboratories',
  group: 'vip',
  channel: 'west',
  reference: 'order 2026-1187',
  note: 'paid by transfer',
  token: 'nightly report',
  passkey: 'Ada’s laptop',
  agent: BROWSER,
  requestId: 'job-4711',
  address: '203.0.113.7',
}

export interface Furnished {
  house: House
  account: Account
  /** An operator who owns the account, is signed in in two browsers, and has a token and passkeys. */
  owner: Person
  /** Of the session of the owner. */
  cookies: Map<string, string>
  /** Of a request that was answered, of one that failed, of one that was refused, and of others by what became of them. */
  requests: { answered: string; failed: string; refused: string } & EndedRequests
  /** Of an order that is credited, with a refund and an exception, and of one that can be paid. */
  orders: { credited: string; open: string }
  /** Parts behind `/console` that hold a secret. */
  links: { invitation: string; reset: string; register: string; email: string; first: string }
}

/** `states`: whether there is a row in every state, and not only what an account has on a usual day. */
export async function furnish(t: Pick<Test, 'teardown'>, names: Names = PLAIN, states = true): Promise<Furnished> {
  const alipay = await AlipayDouble.open(t)
  const house = await openConsole(t, JSON.stringify({ ...SETTINGS, pay: { alipay: alipay.section } }))
  const { store, clock, deps } = house
  // the books note their own time beside that of the rows
  clock.step(Date.now() - clock.now())
  await applyCatalog(store, parseCatalog(JSON.stringify(catalogOf(names)), 'catalog.yaml', {}), clock)
  deps.fleet.channelStates = async () => new Map([[RESTING, { state: 'open', keys: ['open'], open: 0 }]])
  alipay.ledger.now = () => clock.now()
  await deps.fleet.changed()
  const account = (await store.accounts.byName(names.account)) as Account
  const atMs = clock.now()
  const owner = await newPerson(deps, 'ada@example.org', { name: names.person, operator: true })
  await store.people.members.add({ userId: owner.id, accountId: account.id, role: 'owner' }, atMs, CLI)
  const other = await house.account('Another account, whose name is rather long for a telephone')
  await store.people.members.add({ userId: owner.id, accountId: other.id, role: 'viewer' }, atMs, CLI)
  const maker = await fillTeam(house, account, names)
  const keys = await makeKeys(house, account, maker, names)
  const used = await use(house, keys, names)
  const orders = await makeOrders(house, account, maker, alipay, names)
  const said = { nowMs: clock.now(), note: names.note }
  const ended = states
    ? await everyState(store, account, keys[1] as Key, said)
    : { broken: used.failed, pictures: used.answered }
  const requests = { ...used, ...ended }
  const entry = { kind: 'topup', amount: micro(500_000_000), reference: names.reference, actor: 'a test' } as const
  await store.entries.add(account.id, { ...entry, note: names.note }, SETUP)
  const token = { userId: owner.id, name: names.token, hash: 'of a token', hint: 'gwp_…x7Qk', scope: 'read' } as const
  const expiresAtMs = atMs + 30 * DAY_MS
  await store.people.tokens.create({ ...token, allowIps: ['192.0.2.0/24'], createdAtMs: atMs, expiresAtMs }, CLI)
  await makePasskeys(house, owner, names)
  await new UserSessions(deps).open(
    { ...stranger('198.51.100.4'), agent: names.agent },
    owner,
    null,
    'sign_in.password',
  )
  const { session } = await new UserSessions(deps).open(
    { ...stranger(), agent: BROWSER },
    owner,
    null,
    'sign_in.password',
  )
  const cookies = new Map([['session', session]])
  return { house, account, owner, cookies, requests, orders, links: await makeLinks(house, account, owner) }
}

/** A channel that has failed, and is left alone for a moment. */
const RESTING = 'resting'

async function makePasskeys({ store, clock }: House, { id }: Person, names: Names): Promise<void> {
  const { passkeys } = store.people
  const atMs = clock.now()
  const answered = (hash: string) => ({ hash, untilMs: atMs + DAY_MS })
  const one = { publicKey: '', counter: 0, transports: [] }
  await passkeys.add(
    id,
    { ...one, credential: 'one', name: names.passkey, synced: true, atMs },
    answered('one'),
    [],
    CLI,
  )
  const add = { ...one, credential: 'two', name: 'Security key', synced: false, atMs }
  const two = await passkeys.add(id, add, answered('two'), [], CLI)
  await passkeys.use(two!.passkey, { counter: 0, synced: false }, answered('used'), atMs)
}

/** Keys that were never used. */
const UNUSED = 3
/** As long as names of models are where they say everything. */
const LONG_MODEL = 'alpha-sonnet-vision-preview-2026-11-17-long-context'
const LONG_KEY = 'evaluation of the translation pipeline, Frankfurt'

const PRICE = { input: 35, output: 175, cache_read: 3.5, cache_write_5m: 43.75, cache_write_1h: 70 }

function catalogOf(names: Names): object {
  const models = [
    {
      name: names.model,
      family: names.family,
      vendor: names.vendor,
      context: 1_000_000,
      price: { ...PRICE, over: [{ tokens: 200_000, input: 70, output: 262.5 }] },
      max_output: 64_000,
    },
    {
      name: 'alpha-haiku-5-5',
      family: 'alpha',
      vendor: names.vendor,
      context: 200_000,
      price: { input: 7, output: 35, cache_read: 0.7 },
      max_output: 64_000,
    },
    {
      name: 'beta-4.7',
      family: 'beta',
      price: { input: 12, output: 96, cache_read: 1.2, web_search: 0.07, input_audio: 24, output_audio: 120 },
    },
    {
      name: 'gamma-image-2',
      family: 'gamma',
      price: { image: { default: 0.28, '1024x1536/high': 1.6 } },
      image_form: 'base64',
    },
    { name: 'gamma-3.8-flash', family: 'gamma', price: { input: 3.5, output: 21, cache_read: 0.35 }, offline: true },
    { name: 'delta-mini', family: 'delta', price: { input: 1, output: 4 }, max_output: 32_000 },
    { name: LONG_MODEL, family: 'alpha', price: { input: 14, output: 70, cache_read: 1.4 }, max_output: 64_000 },
  ]
  const channel = { base_url: 'https://upstream.example', key: 'up', groups: ['default', names.group] }
  const of = (family: string) => models.filter(one => one.family === family).map(({ name }) => name)
  return {
    groups: [
      { name: 'default', public: true },
      { name: names.group, multiplier: 0.8, public: true },
    ],
    models,
    channels: [
      { ...channel, name: names.channel, protocols: ['messages', 'chat'], models: [...of('alpha'), names.model] },
      { ...channel, name: 'b', protocols: ['chat', 'responses'], models: of('beta') },
      { ...channel, name: 'c', protocols: ['generate', 'images'], models: of('gamma') },
      { ...channel, name: RESTING, protocols: ['chat'], models: of('delta') },
    ],
    accounts: [{ name: names.account, groups: ['default', names.group], balance: 1_000, sandbox: true }],
  }
}

async function fillTeam({ store, person }: House, account: Account, names: Names): Promise<PersonClient> {
  for (const [email, role, name] of [
    ['bob@example.org', 'member', 'Bob'],
    ['chen.xiaoming@example.org', 'billing', 'Chen Xiaoming'],
    ['dora@example.org', 'viewer', names.person],
  ] as const) {
    const made = await person(email, { in: { account, role } })
    await store.people.users.update(made.person.id, { name }, CLI)
  }
  return person('grace@example.org', { in: { account, role: 'owner' } })
}

/** One of each state that the page Keys tells. Those that can be used, or could be, are returned. */
async function makeKeys(house: House, account: Account, owner: PersonClient, names: Names): Promise<Key[]> {
  const keys: Key[] = []
  for (const body of [
    { name: 'used up', group: 'default', cap: '0' },
    { name: 'for nobody', group: 'default', restricted: true, models: [], confirm: true },
    { name: 'put aside', group: 'default' },
    { name: names.key, group: names.group, cap: { amount: '200.00', every: 'month' } },
    { name: 'laptop', group: 'default', allow_ips: ['203.0.113.0/24', '2001:db8::/32'] },
    {
      name: LONG_KEY,
      group: 'default',
      restricted: true,
      models: [names.model, 'beta-4.7'],
      cap: '25.00',
    },
    { name: 'old demo', group: 'default' },
  ]) {
    const { json } = await owner.call('keys.create', { account, body })
    keys.push((await house.store.keys.byPublicId((json['key'] as { id: string }).id)) as Key)
  }
  const change = (name: string, body: object) =>
    owner.call('keys.change', { account, path: { id: keys.find(key => key.name === name)!.publicId }, body })
  await change('old demo', { expires_at: '2026-01-01T00:00:00Z' })
  await change('put aside', { status: 'disabled' })
  return keys.slice(UNUSED)
}

const line = (model: string, name: Line['class'], count: number, price: number): Line =>
  receiptLine(name, count, { model, price })

/** Ninety days of requests, days with failures, a busy day, and one refusal. */
async function use(
  { store, clock }: House,
  keys: Key[],
  names: Names,
): Promise<Omit<Furnished['requests'], keyof EndedRequests>> {
  const models = [names.model, 'alpha-haiku-5-5', 'beta-4.7', LONG_MODEL]
  const nowMs = clock.now()
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  let made = 0
  const id = (atMs: number) => `${idAt(atMs)}n0de00${String(made++).padStart(5, '0')}`
  const row = (atMs: number, i: number, fails: boolean, busy: boolean) => {
    const size = busy ? 4 : 1
    const model = models[i % models.length] as string
    const lines = [
      line(model, 'input', size * (120 + 31 * (i % 9)), 35_000_000),
      line(model, 'cache_read', size * (2_000 + 90 * (i % 9)), 3_500_000),
      line(model, 'output', fails ? 0 : size * (64 + 7 * (i % 11)), 175_000_000),
    ]
    const multiplier = 800_000
    const [input, cached, output] = lines.map(({ count }) => count) as [number, number, number]
    return usageRow(id(atMs), keys[i % 3] as Key, Number(chargeOfLines({ lines, multiplier })), {
      model,
      lines,
      multiplier,
      priceVersion: 1,
      channel: names.channel,
      clientRequestId: names.requestId,
      upstreamId: names.requestId,
      group: i % 12 === 0 ? names.group : 'default',
      protocol: i % 2 === 0 ? 'messages' : 'chat',
      held: micro(900_000),
      askedMs: 2,
      firstByteMs: 420 + 40 * (i % 7),
      durationMs: 3_100 + 700 * (i % 7),
      input,
      cache_read: cached,
      cache_write_5m: 0,
      cache_write_1h: 0,
      output,
      images: 0,
      ...(fails ? { end: 'upstream_error' as const, status: 502 } : {}),
    })
  }
  const rows = Array.from({ length: DAYS }, (_, day) =>
    Array.from({ length: DAILY - 5 * (day % 5) }, (_, i) =>
      row(
        nowMs - day * DAY_MS - (i + 1) * APART_MS,
        i,
        (day % 20 === 7 && i % 6 === 5) || (day === 0 && i === 3),
        day === 12,
      ),
    ),
  ).flat()
  await store.books.settle(rows.map(one => settlement(one, 'h', 0)))
  const refused = id(nowMs - HOUR_MS)
  const key = keys[0] as Key
  await store.refusals.record([
    {
      requestId: refused,
      atMs: nowMs - HOUR_MS,
      accountId: key.accountId,
      keyId: key.id,
      model: names.model,
      reason: 'quota',
      status: 403,
      address: names.address,
    },
  ])
  return { answered: rows[0]!.requestId, failed: rows[3]!.requestId, refused }
}

async function makeOrders(
  { deps, store }: House,
  account: Account,
  owner: PersonClient,
  alipay: AlipayDouble,
  names: Names,
): Promise<Furnished['orders']> {
  const begin = async (amount: string) =>
    String((await owner.call('orders.create', { account, body: { method: 'alipay', amount } })).json['id'])
  const [open, credited, less] = [await begin('50'), await begin('200'), await begin('80')] as [string, string, string]
  const desk = await deps.pay()
  const method = (await desk.methods()).get('alipay') as PayMethod
  for (const [id, change] of [
    [credited, {}],
    [credited, { transactionId: 'paid twice' }],
    [less, { amount: 7_900 }],
  ] as const) {
    alipay.ledger.scan(id)
    alipay.ledger.pay(id)
    const said = await method.query((await store.pay.order(id)) as Order)
    await desk.notices.take('alipay', { ...said, ...change } as Payment, 'callback')
  }
  await desk.refunds.begin(credited, '30', names.note, true, SETUP)
  await desk.callback('alipay', { headers: {}, body: Buffer.from('sign=eA%3D%3D&sign_type=RSA2') })
  return { credited, open }
}

async function makeLinks({ deps, store, clock }: House, account: Account, owner: Person): Promise<Furnished['links']> {
  const by = signedInAs(owner)
  const into = { account, role: 'member', operator: false } as const
  await new Invitations(deps).make(by, 'emil@example.org', into)
  const link = async (kind: 'invitation' | 'reset' | 'registration' | 'email' | 'sign-in', about: object) => {
    const { row, url } = newLink(deps.config(), kind, clock.now(), about)
    await store.people.links.create(row, CLI)
    return url.slice(url.indexOf('/console') + '/console'.length)
  }
  const email = 'new@example.org'
  const userId = owner.id
  return {
    invitation: await link('invitation', { email, accountId: account.id, role: 'member' }),
    reset: await link('reset', { userId }),
    register: await link('registration', { email }),
    email: await link('email', { userId, email }),
    first: await link('sign-in', { userId }),
  }
}

type Place = (at: Furnished) => string[]

const month = ({ house }: Furnished): string => new Date(house.clock.now()).toISOString().slice(0, 7)

/** Where each page is, below `/console`, in every state that looks different. A new page needs its line here. */
export const PLACES: Record<PageName, Place> = {
  home: () => [''],
  model: () => ['/models/beta-4.7', '/models/beta-4.7?group=vip'],
  topup: ({ orders }) => ['/topup', ...Object.values(orders).map(id => `/topup?order=${id}`)],
  paid: ({ orders }) => [`/topup/${orders.credited}`, '/topup/nothing'],
  payments: () => ['/payments', '/payments?exceptions=all', '/payments?state=failed'],
  payment: ({ orders }) => [`/payments/${orders.credited}`, `/payments/${orders.open}`, '/payments/nothing'],
  actions: () => ['/actions'],
  'all-actions': () => ['/all-actions'],
  'api-reference': () => ['/api-reference'],
  'console-api': () => ['/console-api'],
  models: () => ['/models', '/models?group=vip', '/models?q=nothing+like+it'],
  status: () => ['/status'],
  connect: () => ['/connect'],
  overview: () => ['/overview'],
  usage: () => ['/usage', '/usage?stack=key&period=week&outcome=ok&status=2xx', '/usage?model=nothing-like-it'],
  requests: () => ['/requests', '/requests?outcome=upstream', '/requests?id=nobody', '/requests?list=refused'],
  receipt: ({ requests }) => [...Object.values(requests), 'nothing'].map(id => `/requests/${id}`),
  billing: () => ['/billing'],
  statement: at => [`/billing/${month(at)}`],
  keys: () => ['/keys', '/keys?q=nothing+like+it'],
  playground: () => ['/playground'],
  team: () => ['/team'],
  profile: () => ['/profile'],
  security: () => ['/security'],
  'sign-in': () => ['/sign-in'],
  forgotten: () => ['/forgotten'],
  reset: ({ links }) => ['/reset', links.reset],
  invitation: ({ links }) => ['/invitation', links.invitation],
  register: ({ links }) => ['/register', links.register],
  'first-sign-in': ({ links }) => ['/first-sign-in', links.first],
  email: ({ links }) => ['/email', links.email],
  missing: () => ['/nowhere'],
}
