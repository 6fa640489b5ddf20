/** A charge above its hold: what the lease believes at once, what is refused with which numbers, here and in other processes. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Hold, type Ledger, type HoldRefusal } from '../../lib/ledger/ledger.ts'
import type { Store } from '../../lib/store/store.ts'
import { accountPurse, type PurseId } from '../../lib/store/books/purses.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import type { Account, Key } from '../../lib/terms/records.ts'
import { limitOf, SETUP, changed } from '../support/store.ts'
import { until } from '../support/wait.ts'
import { house, reserve, row } from './house.ts'

const settled = async () => {
  for (let i = 0; i < 20; i++) await new Promise<void>(resolve => setImmediate(resolve))
}

/** What of a purse may be spent, and what is leased. */
async function view(store: Store, id: PurseId) {
  const [purse] = await store.books.purses([id])
  const { credit, spent, leased } = purse!
  return { balance: (credit as number) - spent, leased }
}

/** Makes the lease large: so much is held at once, and given up again. */
async function warm(ledger: Ledger, key: Key, holds: number, amount: number): Promise<void> {
  const many = await Promise.all(Array.from({ length: holds }, () => reserve(ledger, key, amount)))
  for (const hold of many) ledger.void(hold)
}

const asked = async (ledger: Ledger, account: Pick<Account, 'id' | 'budget'>, key: Key, amount: number) =>
  (await ledger.reserve(account, key, micro(amount))) as Hold | HoldRefusal

t.test('an account at −40: 0 of 479 small requests are admitted, and each is told what is missing', async t => {
  const { store, key, open, clock } = await house(t)
  const ledger = await open()
  const account = { id: key.accountId, budget: null }
  await warm(ledger, key, 20, 10)
  const [one, open1] = [await reserve(ledger, key, 10), await reserve(ledger, key, 20)]
  ledger.settle(one, row(key, 1_040))
  ledger.void(open1) // what was held beside it is free in the lease now, and not there any more
  let admitted = 0
  for (let i = 0; i < 479; i++) {
    const answer = await asked(ledger, account, key, 1)
    if (answer instanceof Hold) admitted++
    else t.match(answer, { refused: 'quota', available: -40 })
    if (i % 30 === 0) clock.advance(1_000)
  }
  t.equal(admitted, 0)
  t.match(await view(store, accountPurse(key.accountId)), { balance: -40, leased: 0 })
  await ledger.stop()
  t.match(await store.audit(), { ok: true, leased: 0 })
})

t.test('at once: in the turn of the charge nothing is held out of the lease any more', async t => {
  const { key, open } = await house(t)
  const ledger = await open()
  const account = { id: key.accountId, budget: null }
  await warm(ledger, key, 20, 10)
  const [one, other, streaming] = [
    await reserve(ledger, key, 10),
    await reserve(ledger, key, 20),
    await reserve(ledger, key, 5),
  ]
  ledger.settle(one, row(key, 1_040))
  ledger.void(other)
  const next = ledger.reserve(account, key, micro(1))
  t.ok(next instanceof Promise, 'the store is asked')
  t.equal(ledger.grow(streaming, micro(1)), false, 'nor does an open hold grow')
  t.equal(await ledger.growLater(streaming, micro(1)), false)
  t.match(await next, { refused: 'quota', available: -45 })
  ledger.void(streaming)
  await ledger.stop()
})

t.test('who can pay a charge above its hold is served on, from the store and then from memory', async t => {
  const { store, key, open } = await house(t)
  const ledger = await open()
  const account = { id: key.accountId, budget: null }
  ledger.settle(await reserve(ledger, key, 10), row(key, 400))
  const after = await asked(ledger, account, key, 10)
  t.ok(after instanceof Hold)
  ledger.void(after as Hold)
  await settled()
  const next = ledger.reserve(account, key, micro(10))
  t.ok(next instanceof Hold, 'from memory again')
  ledger.void(next as Hold)
  t.match(await asked(ledger, account, key, 601), { refused: 'estimate', available: 600 })
  await ledger.stop()
  t.match(await view(store, accountPurse(key.accountId)), { balance: 600, leased: 0 })
})

t.test('while the store is away the lease stays closed, and what is missing is known when it is back', async t => {
  const h = await house(t)
  let gone = false
  const refuse = () => Promise.reject(new StoreUnavailable('away'))
  const store = changed(h.store, {
    books: {
      lease: (...args) => (gone ? refuse() : h.store.books.lease(...args)),
      settle: (...args) => (gone ? refuse() : h.store.books.settle(...args)),
    },
    ping: () => (gone ? refuse() : h.store.ping()),
  })
  const { key, clock } = h
  const ledger = await h.open({ store })
  const account = { id: key.accountId, budget: null }
  await warm(ledger, key, 20, 10)
  const [one, other] = [await reserve(ledger, key, 10), await reserve(ledger, key, 20)]
  gone = true
  ledger.settle(one, row(key, 1_040))
  ledger.void(other)
  await settled()
  for (let i = 0; i < 10; i++) {
    const asking = asked(ledger, account, key, 1)
    await settled()
    clock.advance(1_000)
    t.match(await asking, { refused: 'unavailable' })
  }
  gone = false
  for (let i = 0; i < 20; i++) {
    clock.advance(1_000)
    await settled()
  }
  t.match(await asked(ledger, account, key, 1), { refused: 'quota', available: -40 })
  await ledger.stop()
  t.match(await h.store.audit(), { ok: true, leased: 0 })
})

t.test('caps and budgets alike', async t => {
  const rows: [what: 'cap' | 'budget', every: null | 'day', refused: HoldRefusal['refused'], available: number][] = [
    ['cap', null, 'cap_used', 0],
    ['cap', 'day', 'cap_used', 0],
    ['budget', null, 'quota', -40],
    ['budget', 'day', 'quota', -40],
  ]
  for (const [what, every, refused, available] of rows) {
    const h = await house(t)
    const { store, clock, open } = h
    const limit = limitOf(500, every)
    const set = { limit, atMs: clock.now() }
    const key = what === 'cap' ? await store.keys.update(h.key.id, { cap: set }, SETUP) : h.key
    const account =
      what === 'budget'
        ? await store.accounts.update(key.accountId, { budget: set }, SETUP)
        : { id: key.accountId, budget: null }
    const ledger = await open()
    const hold = async (amount: number) => (await asked(ledger, account, key, amount)) as Hold
    const many = await Promise.all(Array.from({ length: 20 }, () => hold(10)))
    for (const one of many) ledger.void(one)
    const [one, other] = [await hold(10), await hold(20)]
    ledger.settle(one, row(key, 540))
    ledger.void(other)
    for (let i = 0; i < 50; i++)
      t.match(await asked(ledger, account, key, 1), { refused, available }, `${what} every ${every}`)
    await settled()
    t.same([...ledger.held().keys()], [], 'nothing is held')
    await ledger.stop()
    t.match(await store.audit(), { ok: true, leased: 0 })
  }
})

t.test('another process hears of it by a recall, and admits no more than it had leased until then', async t => {
  const { store, key, open } = await house(t)
  const [one, two] = [await open({ holder: 'one' }), await open({ holder: 'two' })]
  const account = { id: key.accountId, budget: null }
  await warm(two, key, 5, 10)
  await warm(one, key, 5, 10)
  const before = (await view(store, accountPurse(key.accountId))).leased
  t.ok(before > 0)
  let seen = await store.changes.seq()
  one.settle(await reserve(one, key, 10), row(key, 1_040))
  await until('the charge is in the books, and the others are asked to give back', async () => {
    return (await store.changes.since(seen))!.some(({ kind, ref }) => kind === 'recall' && ref === `a${key.accountId}`)
  })
  let admitted = 0
  for (let i = 0; i < 200; i++) {
    const answer = two.reserve(account, key, micro(1))
    if (!(answer instanceof Hold)) break
    two.settle(answer, row(key, 1))
    admitted++
  }
  t.ok(admitted > 0 && admitted <= before, `${admitted} of ${before} leased: it has not heard yet`)
  for (const change of (await store.changes.since(seen))!) {
    seen = change.seq
    two.onChange(change)
  }
  await settled()
  t.match(await asked(two, account, key, 1), { refused: 'quota' }, 'now it has')
  await Promise.all([one.stop(), two.stop()])
  t.match(await store.audit(), { ok: true, leased: 0 })
  t.equal((await view(store, accountPurse(key.accountId))).balance, -40 - admitted)
})
