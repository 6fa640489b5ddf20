/**
 * Who may make which call: every call of the console against every kind of caller. The table below is written by hand, so
 * that a row that lets in somebody else by mistake is found; a call without a line in it fails.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { z } from 'zod'
import { Api } from '../../../lib/api/api.ts'
import { type Operation, methodOf, pathOf } from '../../../lib/api/operation.ts'
import { idAt } from '../../../lib/base/ids.ts'
import { newToken } from '../../../lib/base/secrets.ts'
import { micro } from '../../../lib/base/money.ts'
import { OPERATIONS } from '../../../lib/console/api/rows.ts'
import { StoredIdentities } from '../../../lib/console/sign-in/identities.ts'
import { OperationError } from '../../../lib/operations/error.ts'
import { newOrderId } from '../../../lib/pay/exceptions.ts'
import type { Store } from '../../../lib/store/store.ts'
import { request } from '../../api/support/api.ts'
import { newWallet } from '../../pay/usdt-support.ts'
import { fund, settlement, usageRow } from '../../support/store.ts'
import { type Client, type House, openConsole, rowOf } from '../support/console.ts'

const NOW_MS = Date.UTC(2026, 2, 17, 4)

const USERS = 'stranger viewer member billing owner operator'
const READERS = 'viewer member owner operator'
const MONEY = 'viewer billing owner operator'
const MEMBERS = 'viewer member billing owner operator'

/** Who is let in. `everybody`: also who is not signed in. */
const LET_IN: Record<string, string> = {
  'document.read': 'everybody',
  'catalogue.models': 'everybody',
  'catalogue.document': 'everybody',
  'catalogue.prices': 'everybody',
  'catalogue.status': 'everybody',
  'catalogue.own': MEMBERS,
  'sign_in.password': 'everybody',
  'sign_in.ways': 'everybody',
  'sign_in.oidc': 'everybody',
  'sign_in.oidc_callback': 'everybody',
  'sign_in.oidc_step_up': USERS,
  'identities.list': USERS,
  'identities.link': USERS,
  'identities.end': USERS,
  'sign_in.link': 'everybody',
  'sign_in.second_factor': 'everybody',
  'sign_in.sign_out': 'everybody',
  'sign_in.step_up': USERS,
  'sign_in.passkey': 'everybody',
  'sign_in.ask_for_passkey': 'everybody',
  'sign_in.ask_for_passkey_again': USERS,
  'passkeys.list': USERS,
  'passkeys.start': USERS,
  'passkeys.add': USERS,
  'passkeys.rename': USERS,
  'passkeys.remove': USERS,
  'me.show': USERS,
  'me.change': USERS,
  'me.delete': USERS,
  'me.clear_notices': USERS,
  'me.password': USERS,
  'me.email': USERS,
  'me.email_confirmed': 'everybody',
  'factor.start': USERS,
  'factor.confirm': USERS,
  'factor.remove': USERS,
  'factor.recovery_codes': USERS,
  'keys.list': READERS,
  'keys.csv': 'viewer member owner',
  'keys.show': READERS,
  'keys.create': 'member owner',
  'keys.change': 'member owner',
  'keys.roll': 'member owner',
  'keys.delete': 'member owner',
  'keys.several': 'member owner',
  'keys.test': 'member owner',
  'keys.ask': 'member owner',
  'groups.list': READERS,
  'address.show': USERS,
  'sessions.list': USERS,
  'sessions.end': USERS,
  'sessions.end_others': USERS,
  'invitations.look': 'everybody',
  'invitations.accept': 'everybody',
  'registration.ask': 'everybody',
  'registration.register': 'everybody',
  'resets.ask': 'everybody',
  'resets.reset': 'everybody',
  'tokens.list': USERS,
  'tokens.create': USERS,
  'tokens.end': USERS,
  'members.list': 'viewer owner operator',
  'members.show': 'owner operator',
  'members.change': 'owner',
  'members.remove': 'owner',
  'members.leave': 'viewer member billing owner',
  'invitations.list': 'owner operator',
  'invitations.create': 'owner',
  'invitations.revoke': 'owner',
  'users.list': 'operator',
  'users.show': 'operator',
  'users.invite': 'operator',
  'users.invitations': 'operator',
  'users.revoke_invitation': 'operator',
  'users.change': 'operator',
  'users.end_sessions': 'operator',
  'users.reset': 'operator',
  'users.factor_reset': 'operator',
  'overview.read': MEMBERS,
  'usage.read': MEMBERS,
  'usage.csv': 'viewer member billing owner',
  'usage.choices': MEMBERS,
  'requests.list': READERS,
  'requests.read': READERS,
  'requests.csv': 'viewer member owner',
  'requests.jsonl': 'viewer member owner',
  'requests.live': READERS,
  'refusals.list': READERS,
  'balance.read': MONEY,
  'entries.list': MONEY,
  'statements.list': MONEY,
  'statements.read': MONEY,
  'statements.csv': 'viewer billing owner',
  'entries.csv': 'viewer billing owner',
  'actions.list': 'viewer owner operator',
  'actions.all': 'operator',
  'low-balance.set': 'billing owner',
  'orders.methods': MONEY,
  'orders.list': MONEY,
  'orders.csv': 'viewer billing owner',
  'orders.create': 'billing owner',
  'orders.cancel': 'billing owner',
  'orders.read': MONEY,
  'payments.read': 'operator',
  'payments.orders': 'operator',
  'payments.order': 'operator',
  'payments.refund': 'operator',
  'payments.release': 'operator',
  'payments.exceptions': 'operator',
  'payments.resolve': 'operator',
  'payments.rates': 'operator',
  'payments.set_rate': 'operator',
  'usdt.read': MONEY,
  'usdt.address': 'billing owner',
  'usdt.quote': 'billing owner',
  'payments.to_send': 'operator',
  'payments.refund_end': 'operator',
  'payments.addresses': 'operator',
  'payments.rewind': 'operator',
}

const CALLERS = ['nobody', 'expired', 'disabled', ...USERS.split(' ')]
/** Those who are not signed in, whatever cookie they send. */
const SIGNED_OUT = ['nobody', 'expired', 'disabled']

/** The calls of the console, each of which tells only that this one was reached. */
const reached = OPERATIONS.map(({ path, counts: _, ...row }) => ({
  ...row,
  ...(path === undefined ? {} : { path: z.any() }),
  query: z.any(),
  body: z.any(),
  run: async () => {
    throw new OperationError('conflict', { zh: '', en: '' }, { code: `reached ${row.id}` })
  },
})) as unknown as Operation<object>[]

async function serve(house: House): Promise<number> {
  const { store, clock, deps } = house
  const api = new Api<object>({
    root: '/console',
    operations: reached,
    deps: {},
    identities: new StoredIdentities(store, clock),
    clock,
    log: deps.log,
    ids: () => 'id',
    site: () => ({ main: 'http://127.0.0.1', given: false }),
    ipOf: () => '192.0.2.1',
    count: () => {},
  })
  const server = http.createServer((req, res) => void api.serve(req, res))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

const { xpub, first } = newWallet()
const usdt = { xpub, check_address: first, endpoints: ['http://127.0.0.1:9', 'http://localhost:10'], sandbox: true }
const house = await openConsole(t, JSON.stringify({ pay: { usdt } }))
const port = await serve(house)
const ours = await house.account('ours')
const theirs = await house.account('theirs')

/** A session of everybody; `theirs` is an account of the stranger's. */
async function callers(): Promise<Map<string, Client>> {
  const made = new Map<string, Client>([['nobody', house.anybody()]])
  const at = (name: string) => `${name}-${made.size}-${house.clock.now()}@example.com`
  const inOurs = (role: 'owner' | 'viewer' | 'member' | 'billing') => ({ in: { account: ours, role } })
  const expired = await house.person(at('expired'), inOurs('owner'))
  house.clock.advance(31 * 86_400_000)
  made.set('expired', expired)
  const disabled = await house.person(at('disabled'), inOurs('owner'))
  await house.store.people.users.update(disabled.person.id, { status: 'disabled' }, BY)
  made.set('disabled', disabled)
  made.set('stranger', await house.person(at('stranger'), { in: { account: theirs, role: 'owner' } }))
  for (const role of ['viewer', 'member', 'billing', 'owner'] as const)
    made.set(role, await house.person(at(role), inOurs(role)))
  made.set('operator', await house.person(at('operator'), { operator: true, factor: true }))
  return made
}

const BY = { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'test' } as const

const ask = (row: (typeof OPERATIONS)[number], client: Client, account: string) => {
  const path = pathOf(row)
    .replace('{account}', account)
    .replaceAll(/\{\w+\}/g, 'x')
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return request(port, methodOf(row), `/console${path}`, {
    'sec-fetch-site': 'same-origin',
    ...(cookie === '' ? {} : { cookie }),
  })
}

const isLetIn = (id: string, caller: string): boolean => {
  const names = LET_IN[id] ?? ''
  return names === 'everybody' || names.split(' ').includes(caller)
}

/** The refusals that a call of this kind may give somebody who is not let in. */
function refusalOf({ who }: (typeof OPERATIONS)[number], caller: string): RegExp {
  if (SIGNED_OUT.includes(caller)) return /^401 signed_out$/
  if (who === 'operator') return /^403 operators_only$/
  if (caller === 'stranger') return /^404 missing$/
  return caller === 'operator' ? /^403 view_as$/ : /^403 role$/
}

t.test('the table has every call, and no other', async t => {
  t.same(OPERATIONS.map(row => row.id).sort(), Object.keys(LET_IN).sort())
})

t.test('every call, every caller', async t => {
  const everyone = await callers()
  for (const row of OPERATIONS)
    for (const caller of CALLERS) {
      const reply = await ask(row, everyone.get(caller) as Client, ours.publicId)
      const told = `${reply.status} ${reply.error?.code ?? ''}`
      if (isLetIn(row.id, caller)) t.equal(told, `409 reached ${row.id}`, `${caller} ${row.id}`)
      else t.match(told, refusalOf(row, caller), `${caller} ${row.id}`)
    }
})

t.test('accounts of others are as those that do not exist', async t => {
  const owner = (await callers()).get('owner') as Client
  for (const row of OPERATIONS.filter(({ who }) => typeof who !== 'string')) {
    const [foreign, unknown] = [await ask(row, owner, theirs.publicId), await ask(row, owner, 'x'.repeat(20))]
    t.equal(foreign.status, 404, row.id)
    t.equal(foreign.text, unknown.text, row.id)
  }
})

t.test('what is dangerous is not let in by an old proof', async t => {
  const everyone = await callers()
  house.clock.advance(11 * 60_000)
  const rows = OPERATIONS.filter(({ stepUp }) => stepUp)
  t.ok(rows.length > 0)
  for (const row of rows)
    for (const caller of CALLERS.filter(name => isLetIn(row.id, name))) {
      const { status, error } = await ask(row, everyone.get(caller) as Client, ours.publicId)
      t.equal(`${status} ${error.code}`, '403 step_up', `${caller} ${row.id}`)
    }
})

t.test('tokens of an owner do what their scope says', async t => {
  const owner = await house.person('owner-with-tokens@example.com', { in: { account: ours, role: 'owner' } })
  for (const scope of ['read', 'keys'] as const) {
    const client = await owner.token(scope)
    for (const { id, scope: needed } of OPERATIONS.filter(({ who }) => who !== 'anyone')) {
      const row = rowOf(id)
      const names = Object.fromEntries([...row.call.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, 'x']))
      if (needed === null || (needed === 'keys' && scope === 'read')) {
        const { status, code } = await client.call(id, { account: ours, path: names, body: row.body ? {} : undefined })
        t.equal(`${status} ${code}`, needed === null ? '403 session_only' : '403 scope', `${scope} ${id}`)
      }
    }
  }
})

/**
 * For every call with further ids in its path: ids of others, which it must answer as unknown ones. `null`: the name in
 * the path is no id of anybody's, and the reason.
 */
const FOREIGN: Record<string, ((house: House) => Promise<Record<string, string>>) | null> = {
  'sessions.end': async house => {
    const other = await house.person(`other-${house.clock.now()}@example.com`)
    const { json } = await other.call('sessions.list')
    return { id: String((json['data'] as { id: string }[])[0]?.id) }
  },
  ...Object.fromEntries(['show', 'change', 'roll', 'delete', 'test', 'ask'].map(call => [`keys.${call}`, keyOfOthers])),
  'identities.end': async house => {
    const other = await house.person(`with-identity-${house.clock.now()}@example.com`)
    const identity = { issuer: 'https://id.example', subject: 'x', userId: other.person.id, atMs: 1 }
    await house.store.people.identities.add(identity, BY)
    return { id: (await house.store.people.identities.list(other.person.id))[0]?.id ?? '' }
  },
  'passkeys.rename': passkeyOfOthers,
  'passkeys.remove': passkeyOfOthers,
  'tokens.end': async house => {
    const other = await house.person(`with-token-${house.clock.now()}@example.com`)
    await other.token('read')
    const [token] = await house.store.people.tokens.list(other.person.id)
    return { id: token?.publicId ?? '' }
  },
  'members.show': async house => ({ id: (await memberOfTheirs(house)).publicId }),
  'members.change': async house => ({ id: (await memberOfTheirs(house)).publicId }),
  'members.remove': async house => ({ id: (await memberOfTheirs(house)).publicId }),
  'invitations.revoke': async house => {
    const form = { kind: 'invitation', email: 'x@example.com', userId: null, doc: null, role: 'viewer' } as const
    const times = { createdAtMs: house.clock.now(), expiresAtMs: house.clock.now() + 1e6 }
    const link = { ...form, ...times, operator: false, hash: 'a hash', accountId: theirs.id }
    return { id: (await house.store.people.links.create(link, null)).publicId }
  },
  'users.show': null, // operators see all users
  'users.change': null,
  'users.end_sessions': null,
  'users.reset': null,
  'users.factor_reset': null,
  'users.revoke_invitation': null,
  'requests.read': async ({ store }) => ({ request: await requestOf(store, 'requested') }),
  'statements.read': null, // a month, of the account that the path names
  'statements.csv': null,
  'orders.read': async ({ store }) => ({ order: await orderOf(store) }),
  'orders.cancel': async ({ store }) => ({ order: await orderOf(store) }),
  'payments.order': null, // operators see all orders
  'payments.refund': null,
  'payments.release': null,
  'payments.resolve': null,
  'payments.refund_end': null,
  'catalogue.prices': null, // the name of a model, for everybody
}

async function passkeyOfOthers({ store, person, clock }: House): Promise<Record<string, string>> {
  const other = await person(`with-passkey-${clock.now()}-${newToken()}@example.com`)
  const passkey = {
    credential: newToken(),
    publicKey: 'x',
    counter: 0,
    transports: [],
    name: 'x',
    synced: false,
    atMs: 1,
  }
  const answered = { hash: newToken(), untilMs: clock.now() + 1e6 }
  return { id: (await store.people.passkeys.add(other.person.id, passkey, answered, [], BY))!.passkey.publicId }
}

async function keyOfOthers({ store, clock }: House): Promise<Record<string, string>> {
  const { key } = await fund(store, `keys ${clock.now()} ${++others}`, 1_000)
  return { id: key.publicId }
}
let others = 0

/** Bodies of calls that need one with something in it. */
const BODIES: Record<string, object> = {
  'passkeys.rename': { name: 'mine' },
  'keys.roll': { grace: '1h' },
  'keys.test': { model: 'm', protocol: 'chat' },
  'members.change': { role: 'viewer' },
}

/** Queries of calls that need one. */
const QUERIES: Record<string, Record<string, string>> = { 'keys.ask': { path: '/v1/chat/completions' } }

/** The id of an order that another account made. */
async function orderOf(store: Store): Promise<string> {
  const id = newOrderId(NOW_MS)
  const form = { id, accountId: theirs.id, userId: null, method: 'alipay', currency: 'CNY', rate: null } as const
  const order = { ...form, amount: micro(5_000_000), asked: 500, merchant: '2088', sandbox: false }
  const bounds = { open: 5, failed: 5, begun: 1_000, anHour: null, anHourOfAll: null, aDay: micro(5_000_000) }
  await store.pay.makeOrder({ ...order, expiresAtMs: NOW_MS, checkAtMs: null }, bounds, BY)
  return id
}

let members = 0
const memberOfTheirs = async (house: House): Promise<{ publicId: string }> =>
  (await house.person(`member-${members++}@example.com`, { in: { account: theirs, role: 'member' } })).person

/** The id of a request that another account, of this name, made. */
async function requestOf(store: Store, name: string): Promise<string> {
  const { key } = await fund(store, name, 1_000)
  const id = `${idAt(NOW_MS)}n0de0000001`
  await store.holders.register({ id: name, host: 'here', beat: 0 })
  await store.books.settle([settlement(usageRow(id, key, 5), name, 5)])
  return id
}

t.test('ids of others are as those that do not exist', async t => {
  const rows = OPERATIONS.filter(({ call }) => call.replace('{account}', '').includes('{'))
  t.same(rows.map(row => row.id).sort(), Object.keys(FOREIGN).sort(), 'every call with an id in its path has a line')
  const owner = await house.person('owner-of-ours@example.com', { in: { account: ours, role: 'owner' } })
  for (const row of rows) {
    const foreign = await FOREIGN[row.id]?.(house)
    if (foreign === undefined) continue
    const names = Object.keys(foreign)
    const unknown = Object.fromEntries(names.map(name => [name, 'x'.repeat(foreign[name]?.length ?? 1)]))
    const body = row.body === undefined ? undefined : (BODIES[row.id] ?? {})
    const query = QUERIES[row.id] ?? {}
    const ask = (path: Record<string, string>) => owner.call(row.id, { account: ours, path, query, body })
    const replies = await Promise.all([foreign, unknown].map(ask))
    const [one, other] = replies.map(({ status, text }) => `${status} ${text.replace(/request id: \w+/, '')}`)
    t.match(one, /^404 /, row.id)
    t.equal(one, other, row.id)
  }
})
