/** Operations as an edge calls them: rows in, rows or a named error out, without HTTP. */
import t from 'tap'
import type { Micro } from '../../lib/base/money.ts'
import { Accounts } from '../../lib/operations/accounts/accounts.ts'
import { readAudit } from '../../lib/operations/billing/audit.ts'
import { Catalogue } from '../../lib/operations/catalogue/catalogue.ts'
import type { OperationDeps } from '../../lib/operations/deps.ts'
import { Entries } from '../../lib/operations/billing/entries.ts'
import { OperationError, type OperationFault } from '../../lib/operations/error.ts'
import { Keys } from '../../lib/operations/accounts/keys.ts'
import { Requests } from '../../lib/operations/usage/requests.ts'
import type { PurseId } from '../../lib/store/books/purses.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { hashOf } from '../../lib/base/secrets.ts'
import { createLogger } from '../../lib/base/log.ts'
import { TestClock } from '../support/clock.ts'
import { ADMIN, memoryStore } from '../support/store.ts'

/** `told`: what the serving processes heard, in order. */
async function open(t: { teardown(fn: () => unknown): void }, changed: () => Promise<void> = async () => {}) {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const told: string[] = []
  const logged: string[] = []
  const deps: OperationDeps = {
    store,
    clock: new TestClock(),
    log: createLogger('info', { write: line => void logged.push(line) }),
    fleet: {
      held: async () => new Map<PurseId, Micro>(),
      holders: async () => [],
      channelStates: async () => new Map(),
      async changed() {
        told.push('changed')
        await changed()
      },
      async settled() {
        told.push('settled')
      },
    },
    setAside: () => ({ settlements: 1, unreadable: 0 }),
  }
  return {
    told,
    logged,
    deps,
    accounts: new Accounts(deps),
    entries: new Entries(deps),
    keys: new Keys(deps),
    requests: new Requests(deps),
    catalogue: new Catalogue({ ...deps, config: () => CONFIG, channels: null }),
  }
}

const CONFIG = parseConfig('', 'c.yaml', {})
const PROVIDED = { account: 'acme', name: 'provided', group: 'default' }

t.test('what shows money waits for settlements, what changes rows for the processes that serve', async t => {
  const { told, deps, accounts, entries, keys, requests, catalogue } = await open(t)
  const channel = { base_url: 'http://127.0.0.1:9', protocols: ['chat'], key: 'k', groups: ['default'], models: ['m'] }
  const calls: [name: string, call: () => Promise<unknown>, told: string[]][] = [
    ['create an account', () => accounts.create({ name: 'acme', balance: '5' }, ADMIN), ['settled', 'changed']],
    ['change an account', () => accounts.change('acme', { status: 'banned' }, ADMIN), ['settled', 'changed']],
    ['top up', () => entries.topUp('acme', { amount: 1, reference: 'r' }, ADMIN), ['settled', 'changed']],
    ['show an account', () => accounts.one('acme'), ['settled']],
    ['list accounts', () => accounts.list({}), ['settled']],
    [
      'create a key',
      () => keys.create({ account: 'acme', name: 'k', group: 'default' }, ADMIN),
      ['settled', 'changed'],
    ],
    ['change a key', () => keys.change('1', { status: 'disabled' }, ADMIN), ['settled', 'changed']],
    ['provide a key', () => keys.provide(PROVIDED, 'sk-one', ADMIN), ['settled', 'changed']],
    ['provide it again', () => keys.provide(PROVIDED, 'sk-one', ADMIN), ['settled']],
    ['provide it with another secret', () => keys.provide(PROVIDED, 'sk-two', ADMIN), ['settled', 'changed']],
    ['list keys', () => keys.list({ account: 'acme' }), ['settled']],
    ['delete a key', () => keys.remove('1', ADMIN), ['settled', 'changed']],
    ['write a group', () => catalogue.put('groups', 'vip', { multiplier: 0.5 }, ADMIN), ['changed']],
    ['write a model', () => catalogue.put('models', 'm', { price: { request: 1 } }, ADMIN), ['changed']],
    ['write a channel', () => catalogue.put('channels', 'c', channel, ADMIN), ['changed']],
    ['show a channel', () => catalogue.one('channels', 'c'), []],
    ['list models', () => catalogue.list('models'), []],
    ['delete a channel', () => catalogue.remove('channels', 'c', ADMIN), ['changed']],
    ['read usage', () => requests.page({}), ['settled']],
    ['audit', () => readAudit(deps), ['settled']],
  ]
  for (const [name, call, expected] of calls) {
    told.length = 0
    await call()
    t.same(told, expected, name)
  }
})

t.test('what is refused has a name and changes nothing', async t => {
  const { told, accounts, entries, keys, catalogue, requests } = await open(t)
  await accounts.create({ name: 'acme' }, ADMIN)
  await entries.topUp('acme', { amount: 1, reference: 'r' }, ADMIN)
  await catalogue.put('groups', 'vip', {}, ADMIN)
  await accounts.change('acme', { groups: ['vip'] }, ADMIN)
  told.length = 0
  const refused: [call: () => Promise<unknown>, fault: OperationFault, message: RegExp][] = [
    [() => accounts.create({}, ADMIN), 'invalid', /^name: expected a name/],
    [() => accounts.one('nobody'), 'missing', /^there is no account nobody$/],
    [
      () => entries.topUp('acme', { amount: 2, reference: 'r' }, ADMIN),
      'conflict',
      /^reference r stands for another entry/,
    ],
    [
      () => keys.create({ account: 'nobody', name: 'k', group: 'default' }, ADMIN),
      'invalid',
      /^account: there is no account/,
    ],
    [
      () => keys.provide({ ...PROVIDED, account: 'nobody' }, 'sk-one', ADMIN),
      'invalid',
      /^account: there is no account nobody$/,
    ],
    [() => keys.change('x', {}, ADMIN), 'missing', /^there is no key with id x$/],
    [() => catalogue.put('models', 'm', { price: {} }, ADMIN), 'invalid', /^price: expected at least one price$/],
    [() => catalogue.one('channels', 'c'), 'missing', /^there is no channel c$/],
    [() => catalogue.remove('groups', 'vip', ADMIN), 'conflict', /^group vip is still named by acme$/],
    [() => requests.page({ limit: '0' }), 'invalid', /^limit: expected/],
  ]
  for (const [call, fault, message] of refused) {
    const error = await call().catch((error: unknown) => error)
    if (!(error instanceof OperationError)) throw error
    t.equal(error.fault, fault)
    t.match(error.message, message)
  }
  t.notOk(told.includes('changed'))
})

t.test('a key that is provided takes the secret and stays otherwise as an administrator left it', async t => {
  const { accounts, keys, deps } = await open(t)
  await accounts.create({ name: 'acme' }, ADMIN)
  const { id } = await keys.provide(PROVIDED, 'sk-one', ADMIN)
  await keys.change(String(id), { status: 'disabled', cap: 5 }, ADMIN)
  t.match(await keys.provide(PROVIDED, 'sk-one', ADMIN), { id, status: 'disabled', cap: '5.000000' })
  t.match(await keys.provide(PROVIDED, 'sk-two', ADMIN), { id, status: 'disabled', cap: '5.000000' })
  t.equal((await deps.store.keys.find(hashOf('sk-two')))?.key.id, id)
  t.equal(await deps.store.keys.find(hashOf('sk-one')), null)
})

t.test('the books as every edge shows them', async t => {
  const { deps, accounts } = await open(t)
  await accounts.create({ name: 'acme', balance: '5' }, ADMIN)
  const { row, balanced } = await readAudit(deps)
  t.match(row, { ok: false, accounts: 1, credits: '5.000000', balances: '5.000000', set_aside: 1 })
  t.match(row, { broken: 0, findings: [], unfit: [] })
  t.equal(balanced, true)
})

t.test('a change that is not followed yet is written and said', async t => {
  const { accounts, logged, deps } = await open(t, () => Promise.reject(new Error('no answer')))
  t.match(await accounts.create({ name: 'acme' }, ADMIN), { name: 'acme' })
  t.not(await deps.store.accounts.byName('acme'), null)
  t.match(logged.join(), /not in force yet/)
})
