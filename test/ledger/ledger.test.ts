import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { idMaker } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { Journal } from '../../lib/ledger/journal.ts'
import { Hold, Ledger, type HoldRefusal } from '../../lib/ledger/ledger.ts'
import type { Store } from '../../lib/store/store.ts'
import { accountPurse, keyPurse, type Purse } from '../../lib/store/books/purses.ts'
import type { Limit, Key } from '../../lib/terms/records.ts'
import { readJournal, recordOf } from '../support/journal.ts'
import { kept } from '../support/kept.ts'
import { seeded } from '../support/random.ts'
import { fund, memoryStore, settlement, usageRow } from '../support/store.ts'
import { until } from '../support/wait.ts'

const nextId = idMaker(() => Date.now())
const log = { info() {}, warn() {}, error() {} }
const open = (store: Store, folder: string, limitBytes = 1 << 28) =>
  Ledger.open({ store, clock: systemClock, log, folder, limitBytes })
const purse = async (store: Store, id: number): Promise<Purse> =>
  (await store.books.purses([accountPurse(id)]))[0] as Purse
const balance = async (store: Store, id: number): Promise<number> => {
  const { credit, spent } = await purse(store, id)
  return (credit as number) - spent
}
const settle = (ledger: Ledger, key: Key, hold: Hold, charge: number) =>
  ledger.settle(hold, usageRow(nextId(), key, charge))

t.test('exactly as many as fit, however many come at once', async t => {
  const store = await memoryStore()
  const { account, key } = await fund(store, 'a', 250_000)
  const ledger = await open(store, t.testdir())
  const answers = await Promise.all(Array.from({ length: 40 }, () => ledger.reserve(account, key, micro(50_000))))
  const holds = answers.filter(a => a instanceof Hold)
  t.equal(holds.length, 5)
  t.equal(ledger.heldTotal, 250_000)
  for (const refusal of answers.filter(a => !(a instanceof Hold)))
    t.match(refusal, { refused: 'quota', available: 0, need: 50_000 })
  for (const hold of holds) settle(ledger, key, hold, 50_000)
  await ledger.stop()
  t.equal(await balance(store, account.id), 0)
  t.equal((await purse(store, account.id)).leased, 0)
  await store.close()
})

t.test('what is refused, and why', async t => {
  const store = await memoryStore()
  const { account, key } = await fund(store, 'a', 1_000, 500)
  const ledger = await open(store, t.testdir())
  const rows: [amount: number, cap: Limit | null, want: Partial<HoldRefusal>][] = [
    [2_000, null, { refused: 'estimate', available: micro(1_000), need: micro(2_000) }],
    [600, key.cap, { refused: 'cap', available: micro(500) }],
  ]
  for (const [amount, cap, want] of rows) t.match(await ledger.reserve(account, { ...key, cap }, micro(amount)), want)
  t.equal(ledger.heldTotal, 0, 'a refusal holds nothing')
  const hold = (await ledger.reserve(account, key, micro(500))) as Hold
  t.match(await ledger.reserve(account, key, micro(1)), { refused: 'cap' }, 'taken by an open hold')
  settle(ledger, key, hold, 500)
  t.ok(ledger.capUsedUp(key), 'known at once')
  await ledger.flush()
  t.match(await ledger.reserve(account, key, micro(1)), { refused: 'cap_used' })
  await ledger.stop()
  await store.close()
})

t.test('what is left of a cap is told without charges that the store does not have yet', async t => {
  const store = await memoryStore()
  const { account, key } = await fund(store, 'a', 1_000, 500)
  const ledger = await open(store, t.testdir())
  settle(ledger, key, (await ledger.reserve(account, key, micro(300))) as Hold, 300)
  ledger.write()
  const left = { refused: 'cap', available: micro(200), need: micro(300) }
  t.match(await ledger.reserve(account, key, micro(300)), left)
  await ledger.flush()
  t.match(await ledger.reserve(account, key, micro(300)), left, 'and when it has')
  await ledger.stop()
  await store.close()
})

t.test('a charge above its hold is taken in full; a void takes nothing', async t => {
  const store = await memoryStore()
  const { account, key } = await fund(store, 'a', 1_000)
  const ledger = await open(store, t.testdir())
  const one = (await ledger.reserve(account, key, micro(10))) as Hold
  const two = (await ledger.reserve(account, key, micro(10))) as Hold
  ledger.void(two)
  t.throws(() => ledger.void(two), { name: 'InvariantError' })
  settle(ledger, key, one, 1_600)
  await ledger.flush()
  t.equal(await balance(store, account.id), -600)
  t.match(await ledger.reserve(account, key, micro(1)), { refused: 'quota', available: -600 })
  await ledger.stop()
  t.equal((await store.audit()).ok, true)
  await store.close()
})

t.test('a hold grows while there is money', async t => {
  const store = await memoryStore()
  const { account, key } = await fund(store, 'a', 100)
  const ledger = await open(store, t.testdir())
  const hold = (await ledger.reserve(account, key, micro(60))) as Hold
  t.equal(ledger.grow(hold, micro(30)) || (await ledger.growLater(hold, micro(30))), true)
  t.equal(ledger.grow(hold, micro(30)), false)
  t.equal(await ledger.growLater(hold, micro(30)), false)
  t.equal(hold.amount, 90)
  settle(ledger, key, hold, 90)
  await ledger.stop()
  t.equal(await balance(store, account.id), 10)
  await store.close()
})

t.test('the journal of a process that is gone is applied once, torn end and all', async t => {
  const store = await memoryStore()
  const { account, key } = await fund(store, 'a', 1_000)
  const folder = t.testdir()
  // a journal as kill -9 leaves it: records, the last one torn, and no lock
  const journal = new Journal({
    folder,
    holder: 'gone',
    store: await store.id(),
    limitBytes: 1 << 20,
    clock: systemClock,
    log,
  })
  await store.holders.register({ id: 'gone', host: 'h', beat: 0 })
  await store.books.lease(accountPurse(account.id), 'gone', micro(100), micro(100), false)
  for (let i = 0; i < 3; i++)
    journal.append(recordOf([settlement(usageRow(nextId(), key, 10), 'gone', 10)], journal.store), 1)
  const file = path.join(folder, 'gone', '00000001.log')
  journal.close(false)
  appendFileSync(file, readFileSync(file).subarray(0, 40))
  t.match(readJournal(path.join(folder, 'gone'), await store.id()), {
    torn: true,
    corrupt: 0,
    settlements: { length: 3 },
  })
  const ledger = await open(store, folder)
  t.equal(await balance(store, account.id), 970)
  t.equal((await purse(store, account.id)).leased, 0, 'its lease is back')
  t.notOk(existsSync(path.join(folder, 'gone')))
  await ledger.stop()
  t.same(readdirSync(folder), [], 'nothing is left of a clean end')
  t.equal((await store.audit()).ok, true)
  await store.close()
})

t.test('a living process keeps its journal', async t => {
  const store = await memoryStore()
  const folder = t.testdir()
  const one = await open(store, folder)
  const two = await open(store, folder)
  t.equal(readdirSync(folder).length, 2)
  t.not(one.holder, two.holder)
  await one.stop()
  await two.stop()
  await store.close()
})

t.test('the journal folder of the machine is deleted: what is asked meanwhile throws nothing', async t => {
  const store = await memoryStore()
  const folder = t.testdir()
  const ledger = await open(store, folder)
  rmSync(folder, { recursive: true })
  t.ok(ledger.accepting)
  await ledger.stop()
  await store.close()
})

t.test('overflow: at its bound the journal takes no new requests, and drops nothing', async t => {
  const store = await memoryStore()
  const { account, key } = await fund(store, 'a', 1_000_000)
  const ledger = await open(store, t.testdir(), 100)
  const hold = (await ledger.reserve(account, key, micro(10))) as Hold
  t.ok(ledger.accepting)
  await kept(settle(ledger, key, hold, 10))
  t.notOk(ledger.accepting)
  await ledger.flush()
  t.equal(await balance(store, account.id), 999_990)
  // the full file goes when the one that follows it has been made, in the background
  await until('it takes them again when the store has everything', () => ledger.accepting)
  await ledger.stop()
  await store.close()
})

t.test('several ledgers on one balance, at random: never overdrawn, nothing lost, nothing held at the end', async t => {
  const random = seeded(t)
  for (let round = 0; round < 8; round++) {
    const store = await memoryStore()
    const credit = random.int(1_000, 20_000)
    const { account, key } = await fund(store, 'a', credit)
    const folder = t.testdir({ [`r${round}`]: {} })
    const ledgers = await Promise.all([1, 2, 3].map(() => open(store, folder)))
    let charged = 0
    let seen = await store.changes.seq()
    // as the gateway does: what others ask for comes with the store's changes
    const following = setInterval(async () => {
      for (const change of (await store.changes.since(seen)) ?? []) {
        seen = Math.max(seen, change.seq)
        for (const ledger of ledgers) ledger.onChange(change)
      }
    }, 20)
    await Promise.all(
      Array.from({ length: 60 }, async () => {
        const ledger = random.pick(ledgers)
        const need = random.int(1, 900)
        const hold = await ledger.reserve(account, key, micro(need))
        if (!(hold instanceof Hold)) return
        await new Promise(resolve => setTimeout(resolve, random.int(0, 5)))
        const held = ledgers.reduce((sum, l) => sum + l.heldTotal, 0)
        if (held > credit - charged) t.fail(`seed ${random.seed}: ${held} held of ${credit - charged}`)
        if (random.next() < 0.2) ledger.void(hold)
        else {
          const charge = random.int(0, need)
          settle(ledger, key, hold, charge)
          charged += charge
        }
      }),
    )
    clearInterval(following)
    await Promise.all(ledgers.map(ledger => ledger.stop()))
    t.equal(await balance(store, account.id), credit - charged)
    const { leased } = await purse(store, account.id)
    const [ofKey] = await store.books.purses([keyPurse(key.id)])
    t.match(
      { leased, spent: ofKey?.spent, audit: (await store.audit()).ok },
      { leased: 0, spent: charged, audit: true },
    )
    await store.close()
  }
})
