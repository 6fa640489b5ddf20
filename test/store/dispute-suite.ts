/** What every store must do with disputes: keep them beside their rows, list the open ones, and decide each once. */
import type { Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro, ZERO } from '../../lib/base/money.ts'
import type { Store } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import type { Dispute } from '../../lib/store/books/disputes.ts'
import type { NewEntry } from '../../lib/store/books/entries.ts'
import type { Databases } from '../support/databases.ts'
import { fund, SETUP, settlement, usageRow } from '../support/store.ts'

const DAY_MS = 86_400_000

const idOf = (agoMs: number, n: number): string => `${idAt(Date.now() - agoMs)}node00${String(n).padStart(5, '0')}`

const entryFor = (id: string, amount: number): NewEntry => ({
  kind: 'settlement',
  amount: micro(-amount),
  reference: `row:${id}`,
  actor: 'somebody',
  note: 'it was true',
})

export function disputeSuite(t: Test, { pair }: Databases): void {
  const check = (name: string, fn: (t: Test, one: Store, two: Store) => Promise<void>) =>
    t.test(name, async t => {
      const { one, two } = await pair(t, { secret: 'x' })
      for (const id of ['h1', 'h2']) await one.holders.register({ id, host: 'here', beat: 0 })
      await fn(t, one, two)
    })

  check(
    'rows of which something is disputed are listed until it is decided, or a month has passed',
    async (t, one, two) => {
      const { account, key } = await fund(one, 'demo', 1000)
      const { key: other } = await fund(one, 'other', 1000)
      const ids = [40 * DAY_MS, 3000, 2000, 1000, 500].map((ago, i) => idOf(ago, i))
      const [old, first, plain, second, foreign] = ids as [string, string, string, string, string]
      const disputed = { disputed: micro(700) }
      const rows = [
        usageRow(old, key, 1, disputed),
        usageRow(first, key, 1, { ...disputed, model: 'rare' }),
        usageRow(plain, key, 1),
        usageRow(second, key, 1, disputed),
        usageRow(foreign, other, 1, { ...disputed, channel: 'elsewhere' }),
      ]
      await one.books.settle(rows.map(row => settlement(row, 'h1', 0)))
      t.match(await one.books.settle([settlement(rows[1]!, 'h1', 0)]), { applied: 0 }, 'booked once')
      const listed = async (filter: object = {}) =>
        (await two.usage.page({ disputed: 'open', limit: 10, ...filter })).map(row => row.requestId)
      t.same(await listed(), [foreign, second, first], 'newest first')
      t.same(await listed({ limit: 1, after: foreign }), [second])
      t.same(await listed({ accountId: account.id }), [second, first])
      t.same(await listed({ model: 'rare' }), [first])
      t.same(await listed({ channel: 'elsewhere' }), [foreign])
      t.match(await two.usage.page({ requestId: first, limit: 1 }), [{ disputed: 700 }])
      t.match(await two.usage.page({ requestId: plain, limit: 1 }), [{ disputed: 0 }])

      const of = async (id: string) => (await two.disputes.byRequest(id)) as Dispute
      t.same(await of(first), {
        requestId: first,
        accountId: account.id,
        channel: 'one',
        amount: micro(700),
        state: 'open',
        charged: ZERO,
      })
      t.match(await of(old), { state: 'waived' }, 'nobody decided in time')
      t.equal(await two.disputes.byRequest(plain), null)
      t.same(await two.disputes.decide(await of(old), entryFor(old, 5), '', SETUP), { outcome: 'conflict' })

      const charge = async (store: Store, amount: number) =>
        store.disputes.decide(await of(first), entryFor(first, amount), '', SETUP)
      const outcomes = await Promise.all([charge(one, 300), charge(two, 300)])
      t.same(outcomes.map(({ outcome }) => outcome).sort(), ['created', 'same'])
      t.same(await charge(one, 200), { outcome: 'conflict' }, 'decided otherwise')
      t.same(await one.disputes.decide(await of(first), null, 'no', SETUP), { outcome: 'conflict' })
      t.match(await of(first), { state: 'charged', charged: 300 })

      const waive = async () => two.disputes.decide(await of(second), null, 'the upstream was wrong', SETUP)
      t.same([await waive(), await waive()], [{ outcome: 'created' }, { outcome: 'same' }])
      t.match(await of(second), { state: 'waived', charged: 0 })
      t.same(await listed(), [foreign])
      t.match(await one.actions.page({ limit: 1, subject: { kind: 'dispute', id: second } }), [
        { after: { disputed: '0.000700', state: 'waived', reason: 'the upstream was wrong' } },
      ])

      t.match((await one.entries.page(account.id, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 1 })).entries, [
        { kind: 'settlement', amount: -300, reference: `row:${first}` },
      ])
      t.match(await two.usage.page({ requestId: first, limit: 1 }), [{ charge: 1, disputed: 700 }], 'the row stays')
      t.match(await one.audit(), { ok: true, imbalance: 0, credits: 2000 - 300 })
    },
  )

  check('a decision takes only what is free', async (t, one) => {
    const { account, key } = await fund(one, 'demo', 1000)
    const id = idOf(1000, 1)
    await one.books.settle([settlement(usageRow(id, key, 100, { disputed: micro(9000) }), 'h1', 0)])
    await one.books.lease(accountPurse(account.id), 'h1', micro(500), micro(500), false)
    const there = (await one.disputes.byRequest(id)) as Dispute
    t.same(await one.disputes.decide(there, entryFor(id, 401), '', SETUP), { outcome: 'short', available: 400 })
    t.match(await one.disputes.byRequest(id), { state: 'open' }, 'nothing is decided')
    t.same(await one.disputes.decide(there, entryFor(id, 400), '', SETUP), { outcome: 'created' })
    t.match(await one.audit(), { ok: true })
  })
}
