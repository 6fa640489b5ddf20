/** What every store must do for the people of an account: their requests page by page, and what was refused. */
import type { Databases } from '../support/databases.ts'
import type { Test } from 'tap'
import { attemptId, idAt, timeOfId } from '../../lib/base/ids.ts'
import { type Micro, micro } from '../../lib/base/money.ts'
import type { Store } from '../../lib/store/store.ts'
import type { Page, Paging, RefusedRequest, RequestFilter } from '../../lib/store/usage/queries.ts'
import { GRAIN } from '../../lib/store/usage/sums.ts'
import { BASES, ENDS, outcomeOf, OUTCOMES, type UsageRow } from '../../lib/terms/usage-row.ts'
import type { Act } from '../../lib/base/people.ts'
import type { Key } from '../../lib/terms/records.ts'
import { type Random, seeded } from '../support/random.ts'
import { fund, newKey, openDriver, settlement, usageRow } from '../support/store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const FROM_MS = Date.UTC(2026, 2, 1)
const DAYS = 9

const ACT: Act = { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'test' }

function randomRow(random: Random, keys: readonly Key[], n: number): UsageRow {
  // some of them within one millisecond
  const at = idAt(FROM_MS + random.pick([5, random.int(0, DAYS * DAY_MS - 1)]))
  const end = random.pick([...ENDS, 'completed', 'completed'] as const)
  return usageRow(`${at}node00${String(n).padStart(5, '0')}`, random.pick(keys), random.int(0, 9), {
    model: random.pick(['m1', 'm1', 'm1', 'm1', 'rare']),
    group: random.pick(['default', '组']),
    protocol: random.pick(['chat', 'messages'] as const),
    end,
    status: random.pick([200, 200, 404, 429, 502]),
    basis: random.pick(BASES),
    durationMs: random.int(0, 20),
    clientRequestId: random.pick([null, 'mine', `mine-${n}`]),
    answerId: random.pick([null, `answer-${n}`]),
  })
}

type Slow = { row: UsageRow; booked: number }

const fits = ({ row }: Slow, filter: RequestFilter): boolean => {
  const atMs = timeOfId(row.requestId)
  return (
    outcomeOf(row) !== 'attempt' &&
    row.accountId === filter.accountId &&
    (filter.keyIds === null || filter.keyIds.includes(row.keyId)) &&
    (['model', 'group', 'protocol', 'end', 'basis'] as const).every(
      name => filter[name] === undefined || filter[name] === row[name],
    ) &&
    (filter.outcome === undefined || filter.outcome === outcomeOf(row)) &&
    (filter.fromMs === undefined || atMs >= filter.fromMs) &&
    (filter.toMs === undefined || atMs < filter.toMs) &&
    (filter.statusClass === undefined || filter.statusClass === Math.floor(row.status / 100)) &&
    (filter.chargeFrom === undefined || row.charge >= filter.chargeFrom) &&
    (filter.durationFromMs === undefined || row.durationMs >= filter.durationFromMs)
  )
}

function randomFilter(random: Random, accountId: number, keys: readonly Key[]): RequestFilter {
  const some = <T>(name: string, value: T): object => (random.int(0, 3) === 0 ? { [name]: value } : {})
  const from = FROM_MS + random.int(0, DAYS * DAY_MS)
  return {
    accountId,
    keyIds: random.pick([null, keys.slice(0, 1), keys.slice(0, 2), keys])?.map(key => key.id) ?? null,
    ...some('model', random.pick(['m1', 'rare', 'unused'])),
    ...some('group', '组'),
    ...some('protocol', 'chat'),
    ...some('outcome', random.pick(OUTCOMES.filter(outcome => outcome !== 'attempt'))),
    ...some('end', random.pick(ENDS)),
    ...some('basis', random.pick(BASES)),
    ...some('statusClass', random.pick([2, 4, 5])),
    ...some('chargeFrom', micro(random.int(0, 9))),
    ...some('durationFromMs', random.int(0, 20)),
    ...some('fromMs', from),
    ...some('toMs', from + random.int(0, 3 * DAY_MS)),
  }
}

/** All pages, one behind the other. */
async function all<T>(page: (paging: Paging) => Promise<Page<T>>, paging: Paging, t: Test): Promise<T[]> {
  const rows: T[] = []
  for (let after: string | undefined, pages = 0; ; pages++) {
    const found = await page({ ...paging, ...(after === undefined ? {} : { after }) })
    rows.push(...found.rows)
    if (found.scannedToMs !== null) t.not(found.next, null, 'a page that was cut goes on')
    if (found.next === null) return rows
    if (found.next === after || pages > 5_000) throw new Error(`the pages do not come on behind ${after}`)
    after = found.next
  }
}

async function pages(t: Test, store: Store): Promise<void> {
  const random = seeded(t)
  const { account, key } = await fund(store, 'a', 1e6)
  const keys = [key]
  for (const name of ['two', 'three'])
    keys.push(await store.keys.create(newKey(account.id, { name, hash: name.padStart(64, '0') }), ACT))
  const other = (await fund(store, 'b', 1e6)).key
  const made = Array.from({ length: 450 }, (_, n) => randomRow(random, [...keys, ...keys, other], n))
  made.push(
    ...made
      .slice(0, 40)
      .map(row => ({ ...row, requestId: attemptId(row.requestId, 1), charge: 0 as Micro, answerId: null })),
  )
  const slow: Slow[] = []
  for (let i = 0; i < made.length; i += 150) {
    const batch = made.slice(i, i + 150)
    await store.books.settle(batch.map(row => settlement(row, 'h', 0)))
    slow.push(...batch.map((row, n) => ({ row, booked: i + n })))
  }
  slow.sort((a, b) => timeOfId(b.row.requestId) - timeOfId(a.row.requestId) || b.booked - a.booked)
  const check = async (filter: RequestFilter, paging: Paging) => {
    const wanted = slow.filter(one => fits(one, filter)).map(({ row }) => row.requestId)
    for (const ascending of [false, true]) {
      const asked = { ...paging, ascending }
      const got = (await all(p => store.usage.requestPage(filter, p), asked, t)).map(row => row.requestId)
      t.strictSame(got, ascending ? wanted.reverse() : wanted, JSON.stringify([filter, asked]))
    }
  }
  await check({ accountId: account.id, keyIds: null }, { limit: 50 })
  await check({ accountId: account.id, keyIds: [] }, { limit: 50 })
  await check({ accountId: account.id, keyIds: [other.id, key.id] }, { limit: 50 })
  for (let i = 0; i < 60; i++) {
    const paging = { limit: random.pick([1, 7, 50, 1_000]), mostScanned: random.pick([20, 100, 100_000]) }
    await check(randomFilter(random, account.id, keys), paging)
  }

  const ids = async (keyIds: number[] | null, id: string) =>
    (await store.usage.requestsOfId({ accountId: account.id, keyIds }, id)).map(row => row.requestId)
  const ours = made.filter(row => row.accountId === account.id && outcomeOf(row) !== 'attempt')
  const byAnswer = ours.find(row => row.answerId !== null) as UsageRow
  t.strictSame(await ids(null, byAnswer.requestId), [byAnswer.requestId])
  t.strictSame(await ids(null, byAnswer.answerId as string), [byAnswer.requestId])
  t.strictSame(
    await ids(
      keys.filter(one => one.id !== byAnswer.keyId).map(one => one.id),
      byAnswer.requestId,
    ),
    [],
  )
  const theirs = made.find(row => row.accountId !== account.id) as UsageRow
  t.strictSame(await ids(null, theirs.requestId), [], 'a request of another account is not found')
  const mine = ours.filter(row => row.clientRequestId === 'mine').map(row => row.requestId)
  const found = await ids(null, 'mine')
  t.ok(mine.length > 50 && found.length === 50 && found.every(id => mine.includes(id)), 'the newest of many')
  const oldest = await store.usage.requestsOfId({ accountId: account.id, keyIds: null }, 'mine', true)
  const seqs = oldest.map(row => row.seq)
  t.strictSame(
    seqs,
    seqs.toSorted((a, b) => a - b),
  )
  const both = new Set([...found, ...oldest.map(row => row.requestId)])
  t.equal(both.size, Math.min(100, mine.length), 'the oldest of many')

  const labels = await store.keys.labels(account.id, [key.id, other.id, 999])
  t.strictSame([...labels.keys()], [key.id], 'keys of other accounts have no name here')
  const byUser = newKey(account.id, { name: 'made', hash: 'made'.padStart(64, '0'), createdBy: 7 })
  const ofUser = await store.keys.create(byUser, ACT)
  await store.keys.delete(ofUser.id, ACT)
  t.strictSame(await store.keys.idsOf(account.id, 7), [ofUser.id], 'deleted keys too')
  t.strictSame(await store.keys.idsOf(other.accountId, 7), [])
  await store.keys.delete(key.id, ACT)
  t.match(await store.keys.labelOf(account.id, key.publicId), { id: key.id, name: key.name, deleted: true })
  t.equal(await store.keys.labelOf(account.id, other.publicId), null)
}

async function refusals(t: Test, store: Store): Promise<void> {
  const random = seeded(t)
  const made = Array.from({ length: 200 }, (_, n): RefusedRequest => {
    const atMs = FROM_MS + random.pick([7, n * 10_000])
    return {
      requestId: `${idAt(atMs)}node00${String(n).padStart(5, '0')}`,
      atMs,
      accountId: random.pick([1, 1, 2]),
      keyId: random.int(1, 40),
      model: random.pick(['m', 'n']),
      reason: random.pick(['quota', 'model_unknown']),
      status: 403,
      address: random.pick(['::1', '203.0.113.7']),
    }
  })
  await store.refusals.record(made)
  const kept = (await Promise.all(made.map(({ requestId }) => store.refusals.byRequest(requestId)))).filter(
    one => one !== null,
  )
  t.ok(kept.length > 100)
  kept.sort((a, b) => (a.requestId < b.requestId ? 1 : -1))
  for (const [filter, fits] of [
    [{ accountId: 1, keyIds: null }, () => true],
    [{ accountId: 1, keyIds: [3, 4] }, one => one.keyId === 3 || one.keyId === 4],
    [{ accountId: 1, keyIds: [] }, () => false],
    [{ accountId: 1, keyIds: null, model: 'n' }, one => one.model === 'n'],
    [{ accountId: 1, keyIds: null, address: '::1' }, one => one.address === '::1'],
    [{ accountId: 2, keyIds: null }, () => true],
    [{ keyIds: null }, () => true],
    [{ keyIds: [3], reason: 'quota' }, one => one.keyId === 3 && one.reason === 'quota'],
    [{ accountId: 1, keyIds: null, reason: 'quota' }, one => one.reason === 'quota'],
    [{ accountId: 1, keyIds: null, fromMs: FROM_MS + 8 }, one => one.atMs > FROM_MS + 7],
    [{ accountId: 1, keyIds: null, toMs: FROM_MS + 8 }, one => one.atMs <= FROM_MS + 7],
  ] as [Parameters<Store['refusals']['page']>[0], (one: RefusedRequest) => boolean][]) {
    const wanted = kept.filter(one => [undefined, one.accountId].includes(filter.accountId) && fits(one))
    for (const paging of [{ limit: 3 }, { limit: 50, mostScanned: 10 }, { limit: 1_000 }])
      for (const ascending of [false, true]) {
        const got = await all(p => store.refusals.page(filter, p), { ...paging, ascending }, t)
        t.strictSame(got, ascending ? wanted.toReversed() : wanted, JSON.stringify([filter, paging, ascending]))
      }
  }
}

/** Lists of what is wanted, and the times to the first byte. */
async function totals(t: Test, store: Store): Promise<void> {
  const [a, b] = [(await fund(store, 'a', 100)).key, (await fund(store, 'b', 100)).key]
  const at = (n: number) => `${idAt(FROM_MS + n * HOUR_MS)}node00${String(n).padStart(5, '0')}`
  const rows = [
    usageRow(at(0), a, 1, { model: 'x', firstByteMs: 100 }),
    usageRow(at(1), a, 2, { model: 'y', firstByteMs: 101 }),
    usageRow(at(30), b, 4, { model: 'z', group: '组', firstByteMs: null }),
    usageRow(at(31), b, 8, { model: 'x', firstByteMs: 70_000 }),
  ]
  await store.books.settle(rows.map(row => settlement(row, 'h', 0)))
  const charge = async (query: object) =>
    (await store.usage.summary({ by: [], zone: 'UTC', ...query })).map(row => row.charge)
  t.strictSame(await charge({ keyIds: [a.id, 999] }), [3])
  t.strictSame(await charge({ accountId: b.accountId, keyIds: [a.id] }), [])
  t.strictSame(await charge({ models: ['x', 'y', 'w'] }), [11])
  t.strictSame(await charge({ groups: ['组'] }), [4])
  t.strictSame(await charge({ models: [] }), [])
  const byModel = await store.usage.summary({ by: ['model'], zone: 'UTC', firstBytes: true })
  const times = (sumMs: number, ...buckets: number[]) => ({
    sumMs,
    buckets: Array.from({ length: 12 }, (_, i) => buckets.filter(bucket => bucket === i).length),
  })
  t.strictSame(
    byModel.map(row => [row.by[0], row.firstBytes]),
    [
      ['x', times(70_100, 0, 11)],
      ['y', times(101, 1)],
      ['z', times(0)],
    ],
  )
}

/** Sums of accounts and of keys alone are those of the rows, pruned ones too, and a wrong one shows in the audit. */
async function accountSums(t: Test, store: Store, url: string): Promise<void> {
  const random = seeded(t)
  const keys = [(await fund(store, 'a', 1e6)).key, (await fund(store, 'b', 1e6)).key]
  const made = Array.from({ length: 300 }, (_, n) => randomRow(random, keys, n))
  await store.books.settle(made.slice(0, 200).map(row => settlement(row, 'h', 0)))
  await store.usage.prune(FROM_MS + 3 * DAY_MS, 1_000)
  const driver = openDriver(url)
  t.teardown(() => driver.close())
  const run = (sql: string) => driver.run('test', sql, [])
  t.match(await store.audit(), { ok: true })
  await store.books.settle(made.slice(200).map(row => settlement(row, 'h', 0)))
  t.match(await store.audit(), { ok: true })
  const accountId = keys[0]!.accountId
  const ours = made.filter(row => row.accountId === accountId)
  const asked = { accountId, zone: 'Asia/Shanghai', attempts: 'without' } as const
  for (const by of [['model'], ['day'], ['day', 'group'], ['key'], ['day', 'key'], ['key', 'model']] as const)
    t.equal(
      (await store.usage.summary({ ...asked, by })).reduce((sum, row) => sum + row.charge, 0),
      ours.reduce((sum, row) => sum + row.charge, 0),
      by.join(),
    )
  for (const grain of [GRAIN.accountDay, GRAIN.keyDay]) {
    await run(
      `UPDATE usage_sums SET charge = charge + 1 WHERE grain = ${grain} AND hour_no >= ${(FROM_MS + 4 * DAY_MS) / HOUR_MS}`,
    )
    t.match(await store.audit(), { ok: false }, 'a wrong sum shows')
    t.ok((await store.usage.rebuildSums()) > 0)
    t.match(await store.audit(), { ok: true })
  }
}

async function threshold(t: Test, store: Store): Promise<void> {
  const { account } = await fund(store, 'a', 100)
  t.equal(await store.accounts.lowBalance(account.id), null)
  await store.accounts.setLowBalance(account.id, micro(5), ACT)
  await store.accounts.setLowBalance(account.id, micro(5), ACT)
  t.equal(await store.accounts.lowBalance(account.id), 5)
  await store.accounts.setLowBalance(account.id, null, ACT)
  t.equal(await store.accounts.lowBalance(account.id), null)
  const logged = (await store.actions.page({ accountId: account.id, operation: ACT.operation, limit: 10 })).map(
    ({ before, after }) => [before, after],
  )
  t.strictSame(logged, [
    [{ low_balance: '0.000005' }, { low_balance: null }],
    [{ low_balance: null }, { low_balance: '0.000005' }],
  ])
}

export function requestSuite(t: Test, { pair }: Databases): void {
  const check = (name: string, fn: (t: Test, store: Store, url: string) => Promise<void>) =>
    t.test(name, async t => {
      const { one: store, url } = await pair(t, { secret: 'x' })
      await store.holders.register({ id: 'h', host: 'here', beat: 0 })
      await fn(t, store, url)
    })
  check('pages of requests are what a filter means', pages)
  check('pages of refusals', refusals)
  check('totals of lists, and times to the first byte', totals)
  check('sums of accounts are made of those of their keys', accountSums)
  check('the balance of which people want to be warned', threshold)
}
