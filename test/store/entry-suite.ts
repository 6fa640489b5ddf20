/** What every store must do with entries: book each once, take away only what is free, and read them with charges. */
import type { Databases } from '../support/databases.ts'
import type { Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import type { Store } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import type { Booked, EntryKind, NewEntry } from '../../lib/store/books/entries.ts'
import { StoreConflict } from '../../lib/store/base/errors.ts'
import { type Random, seeded } from '../support/random.ts'
import { fund, SETUP, settlement, usageRow } from '../support/store.ts'

const HOUR_MS = 3_600_000
const ALL = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 1_000 }

const entry = (kind: EntryKind, amount: number, reference: string): NewEntry => ({
  kind,
  amount: micro(amount),
  reference,
  actor: 'somebody',
  note: 'because 原因',
})

const creditOf = async (store: Store, accountId: number) => (await store.books.purses([accountPurse(accountId)]))[0]!

export function entrySuite(t: Test, { pair }: Databases): void {
  const check = (name: string, fn: (t: Test, one: Store, two: Store) => Promise<void>) =>
    t.test(name, async t => {
      const { one, two } = await pair(t, { secret: 'x' })
      for (const id of ['h1', 'h2']) await one.holders.register({ id, host: 'here', beat: 0 })
      await fn(t, one, two)
    })

  check('an entry is booked once', async (t, one, two) => {
    const rich = await one.accounts.create(
      {
        name: 'rich',
        groups: [],
        opening: { amount: micro(500), actor: 'catalogue' },
      },
      SETUP,
    )
    const { account: other } = await fund(two, 'other', 0)
    const calls: [account: number, NewEntry, outcome: Booked['outcome']][] = [
      [rich.id, entry('opening', 500, 'opening'), 'same'],
      [rich.id, entry('topup', 7, 'r'), 'created'],
      [rich.id, entry('topup', 7, 'r'), 'same'],
      [rich.id, entry('topup', 8, 'r'), 'conflict'],
      [rich.id, entry('adjustment', 7, 'r'), 'conflict'],
      [other.id, entry('adjustment', 7, 'r'), 'created'],
      [rich.id, entry('adjustment', -7, 'away'), 'created'],
      [rich.id, entry('payment', 9, 'paid'), 'created'],
      [rich.id, entry('payment', 9, 'paid'), 'same'],
      [other.id, entry('payment', 9, 'paid'), 'conflict'],
      [other.id, entry('topup', 9, 'paid'), 'created'],
      [rich.id, entry('refund', -2, 'back'), 'created'],
      [rich.id, entry('freeze', -3, 'frozen'), 'created'],
      [rich.id, entry('release', 3, 'thawed'), 'created'],
      [rich.id, entry('reversal', -1, 'lost'), 'created'],
    ]
    for (const [i, [id, row, outcome]] of calls.entries())
      t.equal(
        (await (i % 2 ? one : two).entries.add(id, row, SETUP)).outcome,
        outcome,
        `${row.kind} ${row.amount} ${row.reference}`,
      )
    await t.rejects(one.entries.add(other.id + 1, entry('topup', 1, 'nobody'), SETUP), StoreConflict)

    const { entries, balance } = await two.entries.page(rich.id, ALL)
    t.strictSame(
      entries.map(({ kind, amount }) => `${kind} ${amount}`),
      ['reversal -1', 'release 3', 'freeze -3', 'refund -2', 'payment 9', 'adjustment -7', 'topup 7', 'opening 500'],
      'newest first',
    )
    t.match(entries[0], { actor: 'somebody', note: 'because 原因', reference: 'lost' })
    t.match(entries.at(-1), { actor: 'catalogue', note: '', reference: 'opening' })
    t.strictSame([balance, (await creditOf(one, rich.id)).credit], [506, 506])
    t.strictSame(
      entries.map(row => row.seq),
      entries.map(row => row.seq).sort((a, b) => b - a),
    )
    t.match(
      await one.audit(),
      { ok: false, credits: 506 + 16, byHand: 500 + 16, imbalance: 9 + 1 + 3 },
      'payments and what follows are not by hand; here they belong to no orders, which shows',
    )
  })

  check('a debit takes only what is free, and a forced one anything', async (t, one, two) => {
    const { account } = await fund(one, 'demo', 1_000)
    const purse = accountPurse(account.id)
    await one.books.lease(purse, 'h1', micro(600), micro(600), false)
    t.strictSame(await two.entries.add(account.id, entry('adjustment', -401, 'a'), SETUP), {
      outcome: 'short',
      available: 400,
    })
    t.equal((await two.entries.add(account.id, entry('adjustment', -400, 'a'), SETUP)).outcome, 'created')
    t.strictSame(await two.entries.add(account.id, entry('freeze', -1, 'b'), SETUP), { outcome: 'short', available: 0 })
    const seq = await one.changes.seq()
    t.equal((await two.entries.add(account.id, entry('reversal', -100, 'c'), SETUP, true)).outcome, 'created')
    t.match(
      (await one.changes.since(seq))?.map(({ kind, ref }) => `${kind} ${ref}`),
      [`recall ${purse}`, `account ${account.id}`],
      'with its recall in the same transaction',
    )
    t.strictSame(await two.entries.add(account.id, entry('adjustment', -1, 'd'), SETUP), {
      outcome: 'short',
      available: -100,
    })
    t.match(
      await one.books.lease(purse, 'h2', micro(1), micro(1), true),
      { granted: 0 },
      'nothing is admitted below zero',
    )
    await one.books.giveBack(purse, 'h1', micro(600))
    t.match(await creditOf(one, account.id), { credit: 500, spent: 0, leased: 0 })
    t.match(await one.audit(), { credits: 500, balances: 500, imbalance: 100 }, 'a reversal belongs to an order')
  })

  check('entries, charges and balance are read by time', async (t, one) => {
    const { account, key } = await fund(one, 'demo', 1_000)
    const rows = [3, 0, 4].map((charge, i) => usageRow(`${idAt(i)}node0000000`, key, charge))
    await one.books.settle(rows.map(row => settlement(row, 'h1', 0)))
    await one.entries.add(account.id, entry('topup', 5, 'more'), SETUP)
    const { entries, charges, balance } = await one.entries.page(account.id, ALL)
    const [more, opening] = entries
    t.equal(balance, 998)
    t.equal(
      charges.reduce((sum, { charge }) => sum + charge, 0),
      7,
    )
    const booked = (await one.usage.page({ limit: 9 })).map(row => Math.floor(row.bookedAtMs / HOUR_MS) * HOUR_MS)
    t.strictSame(new Set(charges.map(({ atMs }) => atMs)), new Set(booked), 'the hour in which the rows were booked')
    const { atMs } = charges[0]!
    const tables: [filter: object, entries: unknown[], charged: number, balance: number][] = [
      [{ limit: 1 }, [more], 7, 998],
      [{ beforeSeq: more!.seq }, [opening], 7, 993],
      [{ beforeSeq: more!.seq, chargesToMs: atMs }, [opening], 0, 1_000],
      [{ toMs: atMs }, [], 0, 0],
      [{ fromMs: atMs + 2 * HOUR_MS }, [], 0, 998],
    ]
    for (const [filter, list, charged, after] of tables) {
      const page = await one.entries.page(account.id, { ...ALL, ...filter })
      t.strictSame(page.entries, list, JSON.stringify(filter))
      t.equal(page.charges.length > 0, charged > 0)
      t.equal(page.balance, after)
    }
    await one.usage.prune(Date.now(), 100)
    t.strictSame((await one.entries.page(account.id, ALL)).charges, charges, 'pruning leaves the charges')
    t.match(await one.audit(), { ok: true, charges: 7 })
  })

  check('at once, on two connections', (t, one, two) => crowd(t, [one, two], seeded(t)))
}

/** Calls of everything that moves the money of one account, many at once. */
async function crowd(t: Test, stores: readonly Store[], random: Random): Promise<void> {
  const store = () => random.pick(stores)
  const { account, key } = await fund(stores[0]!, 'demo', 1_000)
  const purse = accountPurse(account.id)
  const booked = new Map<string, number>([['opening', 1_000]])
  let charged = 0
  let forced = false
  const book = async (row: NewEntry, force: boolean) => {
    const before = booked.get(row.reference)
    const { outcome } = await store().entries.add(account.id, row, SETUP, force)
    if (outcome !== 'created') return
    t.equal(before, undefined, `${row.reference} is booked once`)
    booked.set(row.reference, row.amount)
  }
  const spend = async (holder: string, n: number) => {
    const { granted } = await store().books.lease(
      purse,
      holder,
      micro(random.int(1, 200)),
      micro(200),
      random.next() < 0.5,
    )
    const charge = random.int(0, granted)
    await store().books.settle([settlement(usageRow(`${idAt(n)}node${holder}00000`, key, charge), holder, charge)])
    await store().books.giveBack(purse, holder, micro(random.int(0, granted - charge)))
    charged += charge
  }
  for (let turn = 0; turn < 25; turn++) {
    const calls = Array.from({ length: 4 }, (_, i) => {
      const debit = random.next() < 0.6
      const force = debit && turn > 18 && random.next() < 0.3
      forced ||= force
      const amount = (debit ? -1 : 1) * random.int(1, 300)
      // Sometimes two calls have one reference, with the same amount or another.
      const reference = random.next() < 0.3 ? `turn ${turn}` : `turn ${turn} call ${i}`
      return book(entry(debit ? 'adjustment' : 'topup', amount, reference), force)
    })
    await Promise.all([...calls, ...['h1', 'h2'].map(holder => spend(holder, turn))])
    const state = await creditOf(stores[0]!, account.id)
    const audit = await stores[1]!.audit()
    t.ok(audit.ok, 'the books add up')
    if (!forced)
      t.ok(state.credit! - state.spent - state.leased >= 0, 'never more is leased or taken away than there is')
  }
  const credits = [...booked.values()].reduce((sum, amount) => sum + amount, 0)
  t.match(await stores[0]!.audit(), { ok: true, credits, charges: charged, balances: credits - charged })
  const { entries, balance } = await stores[1]!.entries.page(account.id, ALL)
  t.equal(entries.length, booked.size)
  t.equal(balance, credits - charged)
}
