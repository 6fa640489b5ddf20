/** What every store must do with usage beyond its rows: sums, reports, rebuilding, refusals. */
import type { Databases } from '../support/databases.ts'
import type { Test } from 'tap'
import { attemptId, idAt, isAttemptId, timeOfId } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import type { Store } from '../../lib/store/store.ts'
import { type RefusedRequest, SUMMARY_BY, SummaryRefused } from '../../lib/store/usage/queries.ts'
import { type BookedRow, FIRST_BYTE_BOUNDS_MS, REPORTED_SUMS } from '../../lib/store/usage/rows.ts'
import { FIRST_BYTE_BUCKETS } from '../../lib/store/usage/sums.ts'
import { ENDS, outcomeOf, rowCounts, type UsageRow } from '../../lib/terms/usage-row.ts'
import { PROTOCOLS } from '../../lib/protocols/names.ts'
import { noUsage } from '../../lib/protocols/words/usage.ts'
import type { Key } from '../../lib/terms/records.ts'
import type { Traffic } from '../../lib/terms/traffic.ts'
import { type Random, seeded } from '../support/random.ts'
import { fund, openDriver, receiptLine, settlement, usageRow } from '../support/store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const FROM_MS = Date.UTC(2026, 2, 1)
/** Clocks in Berlin go forward within it. */
const DAYS = 40
const BY = SUMMARY_BY.filter(by => by !== 'hour')

const NO_TOP = { rows: [], floor: 0 }

type Totals = Record<string, number>

/** An attempt that has a row of its own. */
const NOTHING_BUT_COST: Partial<UsageRow> = {
  ...rowCounts(noUsage()),
  cost: micro(5),
  firstByteMs: null,
  basis: 'none',
}

function randomRow(random: Random, keys: readonly Key[], n: number): UsageRow {
  const at = idAt(FROM_MS + random.int(0, DAYS * DAY_MS - 1))
  const lines = [
    receiptLine('input', 4),
    receiptLine('input_audio', random.int(0, 9)),
    receiptLine('web_search', random.int(0, 3)),
  ]
  const id = `${at}node00${String(n).padStart(5, '0')}`
  const shared = {
    model: random.pick(['m1', 'm2']),
    group: random.pick(['default', '组']),
    channel: random.pick(['one', 'two']),
    protocol: random.pick(PROTOCOLS),
    end: random.pick(ENDS),
    status: random.pick([200, 200, 400, 429, 502]),
  }
  if (random.int(0, 5) === 0)
    return usageRow(attemptId(id, random.int(1, 3)), random.pick(keys), 0, { ...shared, ...NOTHING_BUT_COST })
  return usageRow(id, random.pick(keys), random.int(0, 99), {
    ...shared,
    firstByteMs: random.pick([null, 12, 100, 101, 99_999]),
    cost: random.pick([null, micro(7)]),
    lines: random.pick([[], lines]),
  })
}

/** To make a format takes longer than all that it is used for. */
const formats = new Map<string, Intl.DateTimeFormat>()

function dayIn(zone: string, ms: number): string {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('sv', { timeZone: zone })
  formats.set(zone, format)
  return format.format(ms)
}

/** The report as rows come to it one by one. */
function folded(rows: readonly UsageRow[], by: readonly (typeof BY)[number][], zone: string): Map<string, Totals> {
  const result = new Map<string, Totals>()
  for (const row of rows) {
    const values = {
      day: dayIn(zone, timeOfId(row.requestId)),
      model: row.model,
      key: row.keyId,
      account: row.accountId,
      group: row.group,
      channel: row.channel,
      protocol: row.protocol,
    }
    const id = JSON.stringify(by.map(name => values[name]))
    const totals = result.get(id) ?? Object.fromEntries([...REPORTED_SUMS, 'errors'].map(name => [name, 0]))
    result.set(id, totals)
    const add = (name: string, count: number) => {
      totals[name] = (totals[name] as number) + count
    }
    add('requests', isAttemptId(row.requestId) ? 0 : 1)
    add('errors', outcomeOf(row) === 'upstream' ? 1 : 0)
    for (const name of ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'images'] as const)
      add(name, row[name])
    add('charge', row.charge)
    add('cost', row.cost ?? 0)
    add('uncosted', row.cost === null ? row.charge : 0)
    for (const { class: name, count } of row.lines) {
      if (name === 'input_audio') add(name, count)
      if (name === 'web_search') add('searches', count)
    }
  }
  return result
}

async function reports(t: Test, store: Store, rows: readonly UsageRow[], random: Random, what: string): Promise<void> {
  for (const zone of ['Asia/Shanghai', 'UTC', 'Europe/Berlin']) {
    const by = BY.filter(() => random.int(0, 2) === 0)
    const got = await store.usage.summary({ by, zone })
    const wanted = folded(rows, by, zone)
    const shown = new Map(
      got.map(({ by, offset: _, firstBytes: __, ...totals }) => [JSON.stringify(by), { ...totals }]),
    )
    t.strictSame(
      Object.fromEntries([...shown].sort().map(([id, totals]) => [id, ordered(totals)])),
      Object.fromEntries([...wanted].sort().map(([id, totals]) => [id, ordered(totals)])),
      `${what}: by ${by.join(', ')} in ${zone}`,
    )
  }
}

/** How models fare, as rows come to it one by one. */
function fared(rows: readonly UsageRow[], fromMs: number): Record<string, number[]> {
  const result: Record<string, number[]> = {}
  for (const row of rows) {
    const outcome = outcomeOf(row)
    if (timeOfId(row.requestId) < fromMs || (outcome !== 'ok' && outcome !== 'upstream')) continue
    const counts = (result[`${row.group} ${row.model}`] ??= [0, 0, ...FIRST_BYTE_BUCKETS.map(() => 0)])
    counts[outcome === 'ok' ? 0 : 1]! += 1
    if (outcome !== 'ok' || row.firstByteMs === null) continue
    const bucket = FIRST_BYTE_BOUNDS_MS.findIndex(bound => (row.firstByteMs as number) <= bound)
    counts[2 + (bucket === -1 ? FIRST_BYTE_BOUNDS_MS.length : bucket)]! += 1
  }
  return result
}

async function models(t: Test, store: Store, rows: readonly UsageRow[], what: string): Promise<void> {
  for (const fromMs of [0, FROM_MS + 20 * DAY_MS]) {
    const got = (await store.usage.modelFigures(fromMs)).map(({ group, model, answered, failed, firstByte }) => [
      `${group} ${model}`,
      [answered, failed, ...firstByte],
    ])
    t.strictSame(Object.fromEntries(got), fared(rows, fromMs), `${what}: how models fare`)
  }
  for (const zone of ['Asia/Shanghai', 'America/New_York', 'UTC']) {
    const wanted = new Map<string, [number, number]>()
    for (const row of rows) {
      const outcome = outcomeOf(row)
      if (row.group !== '组' || (outcome !== 'ok' && outcome !== 'upstream')) continue
      count(wanted, `${dayIn(zone, timeOfId(row.requestId))} ${row.model}`, outcome === 'ok' ? [1, 0] : [0, 1])
    }
    const found = new Map<string, [number, number]>()
    for (const { day, model, answered, failed } of await store.usage.modelDays('组', { fromMs: 0, toMs: 2e12, zone }))
      count(found, `${day} ${model}`, [answered, failed])
    t.strictSame([...found].sort(), [...wanted].sort(), `${what}: day by day, ${zone}`)
  }
}

function count(counts: Map<string, [number, number]>, name: string, [answered, failed]: [number, number]): void {
  const before = counts.get(name) ?? [0, 0]
  counts.set(name, [before[0] + answered, before[1] + failed])
}

const ordered = (totals: Totals) => Object.fromEntries(Object.entries(totals).sort())

async function random(t: Test, one: Store, two: Store, spoil: (sql: string) => Promise<unknown>): Promise<void> {
  const chance = seeded(t)
  const keys = [(await fund(one, 'a', 1e6)).key, (await fund(one, 'b', 1e6)).key]
  const made: UsageRow[] = []
  for (let round = 0; round < 5; round++) {
    const fresh = Array.from({ length: chance.int(1, 60) }, () =>
      randomRow(chance, keys, made.length + chance.int(0, 99_000)),
    )
    const known = new Set(made.map(row => row.requestId))
    const distinct = fresh.filter(row => !known.has(row.requestId) && known.add(row.requestId))
    const repeated = made.filter(() => chance.int(0, 4) === 0)
    const batch = [...distinct, ...repeated].map(row => settlement(row, 'h', 0))
    // both gateways bring them at once, as after a lost answer
    await Promise.all([one.books.settle(batch, false), two.books.settle(batch, false)])
    made.push(...distinct)
    await reports(t, chance.pick([one, two]), made, chance, `round ${round}`)
    await models(t, one, made, `round ${round}`)
    t.match(await one.audit(), { ok: true, imbalance: 0 })
  }
  await one.usage.prune(FROM_MS + 10 * DAY_MS, 1_000)
  await reports(t, one, made, chance, 'after pruning')
  await models(t, one, made, 'after pruning')
  t.equal(await one.usage.rebuildSums(), 0, 'nothing is wrong')
  await spoil(
    `UPDATE usage_sums SET charge = charge + 1, requests = 0 WHERE hour_no >= ${(FROM_MS + 20 * DAY_MS) / HOUR_MS}`,
  )
  await spoil(`DELETE FROM usage_sums WHERE model = 'm1' AND hour_no >= ${(FROM_MS + 11 * DAY_MS) / HOUR_MS}`)
  t.match(await one.audit(), { ok: false }, 'wrong sums show')
  t.ok((await two.usage.rebuildSums()) > 0)
  await reports(t, one, made, chance, 'rebuilt')
  await models(t, one, made, 'rebuilt')
  t.match(await one.audit(), { ok: true, imbalance: 0 })
  t.equal(await one.usage.rebuildSums(), 0)
}

async function failing(t: Test, store: Store): Promise<void> {
  const { key } = await fund(store, 'a', 100)
  let made = 0
  const rows = (hour: number, model: string, answered: number, failed: number, group = 'default') =>
    Array.from({ length: answered + failed }, (_, i) =>
      usageRow(`${idAt(FROM_MS + hour * HOUR_MS)}node00${String(made++).padStart(5, '0')}`, key, 0, {
        model,
        group,
        ...(i < answered ? {} : { status: 502, end: 'upstream_error' as const }),
      }),
    )
  const all = [
    ...rows(1, 'm', 0, 5),
    ...rows(2, 'm', 5, 5),
    ...rows(3, 'm', 6, 5),
    ...rows(4, 'm', 0, 4),
    ...rows(5, 'n', 0, 9),
    ...rows(5, 'n', 0, 9, 'other'),
  ]
  await store.books.settle(all.map(row => settlement(row, 'h', 0)))
  const ask = async (fromMs: number, limit: number) =>
    (await store.usage.failingHours('default', { fromMs, least: 5, percent: 50, limit })).map(
      ({ atMs, model, answered, failed }) => [(atMs - FROM_MS) / HOUR_MS, model, answered, failed],
    )
  const [first, second, third] = [
    [5, 'n', 0, 9],
    [2, 'm', 5, 5],
    [1, 'm', 0, 5],
  ]
  t.same(await ask(0, 9), [first, second, third], 'newest first, of one group')
  t.same(await ask(FROM_MS + 2 * HOUR_MS + 1, 9), [first, second], 'the hour in which it begins counts')
  t.same(await ask(0, 1), [first])
}

/** Fifty answers that report a billion pictures made every report of their time a 500, also those of their account. */
const costsBeyondNumbers =
  (atOnce: number) =>
  async (t: Test, store: Store): Promise<void> => {
    const { key } = await fund(store, 'a', 100)
    const cost = micro(500_000_000_000_000)
    const rows = Array.from({ length: 20 }, (_, n) =>
      usageRow(`${idAt(FROM_MS)}node00${String(n).padStart(5, '0')}`, key, 1, {
        cost,
        channel: n < 10 ? 'one' : 'two',
      }),
    )
    for (let n = 0; n < rows.length; n += atOnce)
      await store.books.settle(rows.slice(n, n + atOnce).map(row => settlement(row, 'h', 0)))
    const costs = async (query: object) =>
      (await store.usage.summary({ by: [], zone: 'UTC', ...query })).map(row => row.cost)
    t.same(await costs({}), [Number.MAX_SAFE_INTEGER])
    t.same(await costs({ accountId: key.accountId }), [Number.MAX_SAFE_INTEGER])
    t.same(await costs({ by: ['channel'] }), [5e15, 5e15])
    t.equal((await store.audit()).ok, true)
  }

async function filters(t: Test, store: Store): Promise<void> {
  const [a, b] = [(await fund(store, 'a', 100)).key, (await fund(store, 'b', 100)).key]
  const at = (ms: number, n: number) => `${idAt(FROM_MS + ms)}node00${String(n).padStart(5, '0')}`
  const rows = [
    usageRow(at(0, 1), a, 1, { model: 'x' }),
    usageRow(at(HOUR_MS - 1, 2), a, 2, { model: 'y', status: 502, end: 'upstream_error' }),
    usageRow(at(HOUR_MS, 3), b, 4, { model: 'x', channel: 'two' }),
    usageRow(at(20 * HOUR_MS, 4), b, 8, { model: 'x', protocol: 'images' }),
  ]
  await store.books.settle(rows.map(row => settlement(row, 'h', 0)))
  const charge = async (query: object) =>
    (await store.usage.summary({ by: [], zone: 'UTC', ...query })).map(row => row.charge)
  for (const [query, expected] of [
    [{}, [15]],
    [{ accountId: a.accountId }, [3]],
    [{ keyId: b.id }, [12]],
    [{ keyId: b.id, accountId: a.accountId }, []],
    [{ keyId: 99_999 }, []],
    [{ model: 'x', channel: 'one' }, [9]],
    [{ outcome: 'upstream' }, [2]],
    [{ protocol: 'images', group: 'default' }, [8]],
    [{ fromMs: FROM_MS + HOUR_MS }, [12]],
    [{ toMs: FROM_MS + 1 }, [3]],
    [{ fromMs: FROM_MS + 30 * DAY_MS }, []],
    [{ by: ['model'] }, [13, 2]],
    [{ by: ['day'], zone: 'Asia/Shanghai' }, [7, 8]],
    [{ by: ['day'] }, [15]],
    [{ by: ['hour', 'account'] }, [3, 4, 8]],
  ] as const) {
    t.strictSame(await charge(query), expected, JSON.stringify(query))
  }
  const [first] = await store.usage.summary({ by: ['hour'], zone: 'Asia/Shanghai' })
  t.match(first, { by: [FROM_MS], offset: 8, requests: 2, errors: 1 })
  for (const { requestId, charge: own } of rows) {
    const all = { requestId, by: ['day', 'model', 'key'], zone: 'Europe/Berlin' } as const
    t.match(await store.usage.summary(all), [{ charge: own, requests: 1, input: 1, images: 6 }])
    t.strictSame(await charge({ requestId, model: 'none' }), [])
  }
  t.strictSame(await charge({ requestId: rows[2]!.requestId, fromMs: FROM_MS + 2 * HOUR_MS }), [])
  t.strictSame(await charge({ requestId: at(5, 5) }), [])
  await store.books.settle([settlement(usageRow(at(400 * DAY_MS, 5), a, 1), 'h', 0)])
  for (const [query, what] of [
    [{ by: ['day'], zone: 'Asia/Kolkata' }, 'zone'],
    [{ by: ['day'], zone: 'Nowhere' }, 'zone'],
    [{ by: ['hour'], zone: 'UTC' }, 'period'],
  ] as const) {
    const error = await store.usage.summary(query).catch((error: unknown) => error)
    t.match(error, { what }, JSON.stringify(query))
    t.ok(error instanceof SummaryRefused)
  }
}

/** What was not charged and cost something belongs to a request, and is none. */
async function attempts(t: Test, store: Store): Promise<void> {
  const { key } = await fund(store, 'a', 100)
  const [one, two] = [`${idAt(FROM_MS)}node0000001`, `${idAt(FROM_MS)}node0000002`]
  const rows = [
    usageRow(one, key, 7, { cost: micro(3) }),
    usageRow(attemptId(one, 1), key, 0, { ...NOTHING_BUT_COST, channel: 'two' }),
    usageRow(attemptId(one, 2), key, 0, { ...NOTHING_BUT_COST, channel: 'three' }),
    usageRow(two, key, 8, { cost: micro(4) }),
  ]
  const batch = rows.map(row => settlement(row, 'h', 0))
  t.match(await store.books.settle(batch, false), { applied: 4 })
  t.match(
    await store.books.settle(batch, true),
    { applied: 0, repeated: { length: 4 } },
    'a journal that is applied again',
  )
  const ids = async (filter: object) =>
    (await store.usage.page({ limit: 9, ...filter })).map(row => row.requestId).sort()
  t.strictSame(await ids({}), rows.map(row => row.requestId).sort())
  for (const owner of [{}, { accountId: key.accountId }, { keyId: key.id }, { model: 'beta-4.7' }])
    t.strictSame(await ids({ ...owner, attempts: 'without' }), [one, two], JSON.stringify(owner))
  t.strictSame(await ids({ outcome: 'attempt' }), [attemptId(one, 1), attemptId(one, 2)])
  t.strictSame(await ids({ outcome: 'attempt', attempts: 'without' }), [])
  t.strictSame(await ids({ requestId: one }), [one])
  t.strictSame(
    (await store.usage.attemptsOf(one)).map(row => [row.requestId, row.outcome, row.cost]),
    [1, 2].map(nth => [attemptId(one, nth), 'attempt', 5]),
  )
  t.strictSame(await store.usage.attemptsOf(two), [])
  const totals = async (query: object) =>
    (await store.usage.summary({ by: ['channel'], zone: 'UTC', ...query })).map(
      ({ by, requests, errors, charge, cost }) => [by[0], requests, errors, charge, cost],
    )
  t.strictSame(await totals({}), [
    ['one', 2, 0, 15, 7],
    ['three', 0, 0, 0, 5],
    ['two', 0, 0, 0, 5],
  ])
  t.strictSame(await totals({ attempts: 'without' }), [['one', 2, 0, 15, 7]])
  t.strictSame(await totals({ requestId: attemptId(one, 1) }), [['two', 0, 0, 0, 5]])
  t.equal(await store.usage.rebuildSums(), 0)
  t.match(await store.audit(), { ok: true })
  t.equal(await store.usage.prune(FROM_MS + 1, 1), 1)
  t.equal(await store.usage.prune(FROM_MS + 1, 9), 3)
  t.strictSame((await totals({}))[2], ['two', 0, 0, 0, 5], 'kept when the rows are pruned')
  t.match(await store.audit(), { ok: true })
}

/** More rows than are looked through: what is rare is found by the sums. */
async function rare(t: Test, store: Store): Promise<void> {
  const [a, b] = [(await fund(store, 'a', 100)).key, (await fund(store, 'b', 100)).key]
  const at = (i: number) => `${idAt(FROM_MS + i * 60_000)}node00${String(i).padStart(5, '0')}`
  const isRare = (i: number) => i < 4 || i % 1_000 === 7
  const rows = Array.from({ length: 4_600 }, (_, i) =>
    usageRow(at(i), i % 2 === 0 ? a : b, 0, isRare(i) ? { model: 'rare', channel: 'two' } : {}),
  )
  for (let i = 0; i < rows.length; i += 920)
    await store.books.settle(rows.slice(i, i + 920).map(row => settlement(row, 'h', 0)))
  const all = rows.flatMap((row, i) => (isRare(i) ? [row.requestId] : [])).reverse()
  const ids = (found: BookedRow[]) => found.map(row => row.requestId)
  t.strictSame(ids(await store.usage.page({ model: 'rare', limit: 100 })), all)
  t.strictSame(ids(await store.usage.page({ model: 'rare', channel: 'two', limit: 3 })), all.slice(0, 3))
  t.strictSame(ids(await store.usage.page({ model: 'rare', limit: 100, after: all[2] as string })), all.slice(3))
  t.strictSame(ids(await store.usage.page({ model: 'rare', limit: 100, toMs: FROM_MS + 90_000 })), all.slice(-2))
  t.strictSame(
    ids(await store.usage.page({ model: 'rare', limit: 100, fromMs: FROM_MS + 4_000 * 60_000 })),
    all.slice(0, 1),
  )
  t.strictSame(
    ids(await store.usage.page({ model: 'rare', limit: 100, accountId: a.accountId })),
    all.filter(id => rows.find(row => row.requestId === id)?.accountId === a.accountId),
  )
  t.strictSame(await store.usage.page({ model: 'unused', limit: 100 }), [])
  t.equal((await Array.fromAsync(store.usage.slices({}))).flat().length, rows.length, 'an export has every row')
  const exported = await Array.fromAsync(store.usage.slices({ model: 'beta-4.7' }))
  t.strictSame(ids(exported.flat()), rows.flatMap((row, i) => (isRare(i) ? [] : [row.requestId])).reverse())
  t.ok(exported.length > 1)
}

async function refusals(t: Test, one: Store, two: Store): Promise<void> {
  const made = (n: number, change: Partial<RefusedRequest> = {}): RefusedRequest => ({
    requestId: `r${n}`,
    atMs: FROM_MS + n,
    accountId: 1,
    keyId: 1,
    model: 'm',
    reason: 'quota',
    status: 403,
    address: '::1',
    ...change,
  })
  const many = Array.from({ length: 25 }, (_, i) => made(i))
  await Promise.all([one.refusals.record(many.slice(0, 12)), two.refusals.record(many.slice(12))])
  await one.refusals.record([made(30, { reason: 'model' }), made(31, { keyId: 2 }), made(60_000)])
  await one.refusals.record([made(30, { reason: 'model' })])
  const kept = (await Promise.all(many.map(({ requestId }) => one.refusals.byRequest(requestId)))).filter(
    found => found !== null,
  )
  t.ok(kept.length > 0 && kept.length <= 10, `${kept.length} of one key, reason and minute`)
  t.strictSame(await two.refusals.byRequest('r30'), made(30, { reason: 'model' }))
  for (const id of ['r31', 'r60000']) t.not(await one.refusals.byRequest(id), null)
  t.equal(await one.refusals.byRequest('nobody'), null)
  t.equal(await one.refusals.prune(FROM_MS + 59_999, 5), 0, 'a minute is deleted when it is over')
  t.equal(await one.refusals.prune(FROM_MS + 60_000, 100), kept.length + 2)
  t.not(await one.refusals.byRequest('r60000'), null)
}

async function balances(t: Test, one: Store, two: Store): Promise<void> {
  t.strictSame([...(await one.balances.all())], [])
  const taken = await Promise.all([one, two, one, two].map(store => store.balances.take('上游', 60_000)))
  t.equal(taken.filter(Boolean).length, 1, 'one asks')
  t.strictSame((await two.balances.all()).get('上游')?.told, [], 'nothing is told yet')
  const told = [{ amount: 12_340_000, currency: 'CNY' }, { reason: 'it answers 401' }]
  await one.balances.put('上游', told)
  t.strictSame((await two.balances.all()).get('上游')?.told, told)
  t.equal(await two.balances.take('上游', 60_000), false, 'it was asked just now')
  t.equal(await two.balances.take('上游', 0), true, 'its time has come')
  t.strictSame((await one.balances.all()).get('上游')?.told, told, 'what was told stays until there is more')
}

/** What two processes counted in the same and in other hours. */
async function traffic(t: Test, one: Store, two: Store): Promise<void> {
  const counted = (requests: number): Traffic => ({
    requests,
    refused: { rate: requests },
    senders: { rows: [['203.0.113.7', requests, 0]], floor: 0 },
    by: { account: NO_TOP, key: NO_TOP, address: NO_TOP },
  })
  await one.traffic.put({ hour: 7, traffic: counted(1) }, 'a')
  await Promise.all([
    one.traffic.put({ hour: 7, traffic: counted(2) }, 'a'),
    two.traffic.put({ hour: 7, traffic: counted(3) }, 'b'),
    two.traffic.put({ hour: 8, traffic: counted(4) }, 'b'),
  ])
  const requests = async (from: number, to: number) =>
    (await one.traffic.read(from, to)).map(({ hour, traffic }) => `${hour} ${traffic.requests}`).sort()
  t.strictSame(await requests(7, 8), ['7 2', '7 3', '8 4'], 'the latest of a process counts')
  t.strictSame(await requests(8, 9), ['8 4'])
  t.strictSame((await two.traffic.read(8, 8))[0]?.traffic, counted(4))
  await two.traffic.prune(8)
  t.strictSame(await requests(0, 99), ['8 4'])
}

/** Accounts and keys of the hours under way, beside the days before on which they sent anything. */
async function senders(t: Test, one: Store): Promise<void> {
  const [a, b] = [(await fund(one, 'a', 1_000)).key, (await fund(one, 'b', 1_000)).key]
  await one.holders.register({ id: 'here', host: 'h', beat: 0 })
  const nowMs = FROM_MS + 40 * DAY_MS
  const sent: [key: typeof a, agoMs: number, charge: number][] = [
    [a, 60_000, 5],
    [a, HOUR_MS, 7],
    [a, 2 * DAY_MS, 10],
    [a, 2 * DAY_MS + HOUR_MS, 10],
    [a, 4 * DAY_MS, 20],
    [a, 30 * DAY_MS, 99],
    [b, 60_000, 1],
    [b, 20 * DAY_MS, 99],
  ]
  const rows = sent.map(([key, agoMs, charge], i) =>
    settlement(usageRow(`${idAt(nowMs - agoMs)}node00${String(i).padStart(5, '0')}`, key, charge), 'here', 0),
  )
  await one.books.settle(rows)
  const expected = (idOf: (key: typeof a) => number) => [
    { id: idOf(a), requests: 2, charge: 12, usual: { requests: 3, charge: 40, days: 2 } },
    { id: idOf(b), requests: 1, charge: 1, usual: null },
  ]
  const query = { nowMs, nowFromMs: nowMs - HOUR_MS, days: 7 }
  const byId = (x: { id: number }, y: { id: number }) => x.id - y.id
  t.strictSame(
    (await one.usage.senders({ ...query, by: 'account' })).sort(byId),
    expected(key => key.accountId),
  )
  t.strictSame(
    (await one.usage.senders({ ...query, by: 'key' })).sort(byId),
    expected(key => key.id),
  )
}

/** Runs a statement past the store. */
async function spoil(url: string, sql: string): Promise<void> {
  const driver = openDriver(url)
  await driver.run('spoil', sql, [])
  await driver.close()
}

export function usageSuite(t: Test, { pair }: Databases): void {
  const check = (name: string, fn: (t: Test, one: Store, two: Store, url: string) => Promise<void>) =>
    t.test(name, async t => {
      const { one, two, url } = await pair(t, { secret: 'x' })
      await one.holders.register({ id: 'h', host: 'here', beat: 0 })
      await fn(t, one, two, url)
    })
  check('sums are what the rows come to', (t, one, two, url) => random(t, one, two, sql => spoil(url, sql)))
  check('reports', filters)
  check('costs that no number can tell', costsBeyondNumbers(1))
  check('costs of one batch that no number can tell', costsBeyondNumbers(20))
  check('hours in which models failed', failing)
  check('rows that are rare', rare)
  check('attempts that cost something', attempts)
  check('refusals', refusals)
  check('counts of requests and refusals by the hour', traffic)
  check('what upstreams tell of money: one of several gateways asks', balances)
  check('who sends how much, now and usually', senders)
}
