/**
 * Compares three records of the soak run: what clients saw, what the upstream says it served, and what the ledger
 * charged. For a complete answer the charge must be exactly what the upstream reported, to the micro-CNY, and the usage that the
 * client was shown is that of the row and of the upstream, in whichever protocol either of them was told. No request
 * may be charged twice, and none without an answer. The receipt of every row recomputes its charge. An attempt that was
 * given up has a row of its own when it cost something; nobody is charged for it.
 */
import { isAttemptId } from '../../lib/base/ids.ts'
import { formatMicro } from '../../lib/base/money.ts'
import type { Served } from '../../tools/simulator/books.ts'
import type { Store } from '../../lib/store/store.ts'
import { TOKEN_CLASSES } from '../../lib/protocols/words/usage.ts'
import type { UsageRow } from '../../lib/terms/usage-row.ts'
import { chargeOfLines } from '../support/receipt.ts'
import type { Asked } from './clients.ts'
import type { ShownUsage } from './shown.ts'

type Prices = Record<string, Partial<Record<string, number>>>

export interface Comparison {
  figures: Record<string, string | number>
  problems: string[]
}

const PAGE = 1_000
/** Orders by which an upstream reports, or writes, more than its request can cause. */
const LIES = /input=\d{7}|wordy/

export async function allRows(store: Store): Promise<UsageRow[]> {
  const rows: UsageRow[] = []
  for (let after: string | undefined; ; after = rows.at(-1)?.requestId) {
    const page = await store.usage.page({ limit: PAGE, ...(after === undefined ? {} : { after }) })
    rows.push(...page)
    if (page.length < PAGE) return rows
  }
}

/** The charge in whole micro-CNY, rounded up once. Prices are in CNY per million tokens, or per image. */
function chargeOf(usage: NonNullable<Served['usage']>, price: Partial<Record<string, number>>): number {
  const pico = (cny: number) => BigInt(Math.round(cny * 1e6))
  let sum = BigInt(usage.images) * pico(price['image'] ?? 0) * 1_000_000n
  for (const name of TOKEN_CLASSES) {
    const fallback = name === 'output' ? 0 : price['input']
    sum += BigInt(usage[name]) * pico(price[name] ?? fallback ?? 0)
  }
  return Number((sum + 999_999n) / 1_000_000n)
}

/** The same sums as an answer shows them, of what an upstream reported or a row has. */
function summed(counts: Readonly<Record<(typeof TOKEN_CLASSES)[number], number>>): ShownUsage {
  const sum = (is: (name: string) => boolean) =>
    TOKEN_CLASSES.filter(is).reduce((total, name) => total + counts[name], 0)
  return {
    prompt: sum(name => !name.startsWith('output')),
    cached: sum(name => name.startsWith('cache_read')),
    output: sum(name => name.startsWith('output')),
  }
}

const same = (a: ShownUsage, b: ShownUsage): boolean =>
  a.prompt === b.prompt && a.cached === b.cached && a.output === b.output

/** What is wrong with the usage that the client was shown. */
function problemsOfShown({ shown, via, protocol }: Asked, row: UsageRow, upstream: Served): string[] {
  const found: string[] = []
  const say = (what: string, other: ShownUsage) => found.push(`${what}: ${JSON.stringify([shown, other])}`)
  if (row.via !== via || upstream.protocol !== (via ?? protocol))
    found.push(`by ${via}, the row says ${row.via} and the upstream ${upstream.protocol}`)
  if (shown === null) return found
  // the lines have what is charged, the columns what was reported
  const inRow = row.disputed > 0 ? reportedIn(row) : summed(countsOf(row))
  if (upstream.usage !== null && !same(shown, summed(upstream.usage)))
    say('shown, and reported', summed(upstream.usage))
  if ((via !== null || upstream.usage !== null) && !same(shown, inRow)) say('shown, and in the row', inRow)
  return found
}

const reportedIn = ({ input, cache_read, cache_write_5m, cache_write_1h, output }: UsageRow): ShownUsage => ({
  prompt: input + cache_read + cache_write_5m + cache_write_1h,
  cached: cache_read,
  output,
})

function countsOf(row: UsageRow): Record<(typeof TOKEN_CLASSES)[number], number> {
  const counts = Object.fromEntries(TOKEN_CLASSES.map(name => [name, 0])) as ReturnType<typeof countsOf>
  for (const line of row.lines)
    if (Object.hasOwn(counts, line.class)) counts[line.class as keyof typeof counts] += line.count
  return counts
}

/** What is wrong with the rows of attempts. */
function problemsOf(attempts: readonly UsageRow[]): string[] {
  const wrong = attempts.filter(({ charge, cost }) => charge !== 0 || cost === null || cost <= 0)
  return wrong.map(({ requestId, charge, cost }) => `${requestId}: an attempt, charged ${charge}, cost ${cost}`)
}

export function compare(asked: readonly Asked[], served: readonly Served[], all: UsageRow[], prices: Prices) {
  const rows = all.filter(({ requestId }) => !isAttemptId(requestId))
  const attempts = all.filter(({ requestId }) => isAttemptId(requestId))
  const problems = problemsOf(attempts)
  for (const row of rows)
    if (chargeOfLines(row) !== BigInt(row.charge))
      problems.push(`${row.requestId}: charged ${row.charge}, its lines are ${chargeOfLines(row)}`)
  const byRequest = new Map(rows.map(row => [row.requestId, row]))
  const byId = new Map<string, Served[]>()
  for (const one of served) if (one.id !== null) byId.set(one.id, [...(byId.get(one.id) ?? []), one])
  const known = new Set<string>()
  let exact = 0
  let counted = 0
  let disputed = 0
  let shown = 0
  const pairs = new Map<string, number>()
  for (const one of asked) {
    if (one.requestId !== null) known.add(one.requestId)
    const row = one.requestId === null ? undefined : byRequest.get(one.requestId)
    const upstream = byId.get(one.id) ?? []
    const about = `${one.id} ${one.protocol} ${one.requestId} ${one.outcome} ${one.status}`
    if (row !== undefined && upstream.length === 0) problems.push(`${about}: charged, and the upstream knows nothing`)
    if (one.outcome === 'refused' && (row?.charge ?? 0) !== 0) problems.push(`${about}: refused and charged`)
    if (one.outcome !== 'complete') continue
    const whole = upstream.filter(each => each.end === 'completed')
    // the connection was cut after the last event, or the gateway died then: the answer was complete all the same
    if (whole.length === 0) whole.push(...upstream.filter(each => each.end === 'gone' || each.end === 'cut').slice(-1))
    if (whole.length !== 1) problems.push(`${about}: the upstream completed it ${whole.length} times`)
    else if (row === undefined) problems.push(`${about}: seen whole, and not in the books`)
    else {
      problems.push(...problemsOfShown(one, row, whole[0]!).map(problem => `${about}: ${problem}`))
      if (one.shown !== null) shown++
      const pair = `${one.protocol} by ${one.via}`
      if (one.via !== null) pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
    }
    if (whole.length !== 1 || row === undefined) continue
    if (whole[0]!.usage === null) {
      if (row.charge === 0) problems.push(`${about}: nothing reported, and nothing charged`)
      counted++
    } else {
      const wanted = chargeOf(whole[0]!.usage, prices[one.model] ?? {})
      if (row.charge + row.disputed !== wanted)
        problems.push(`${about}: charged ${row.charge}, disputed ${row.disputed}, the upstream reported ${wanted}`)
      if (row.disputed > 0 && !LIES.test(one.order))
        problems.push(`${about}: disputed ${row.disputed} of an honest report`)
      if (row.disputed > 0) disputed++
      if (row.basis !== 'reported' || (row.end !== 'completed' && whole[0]!.end === 'completed'))
        problems.push(`${about}: ${row.basis}, ${row.end}`)
      exact++
    }
  }
  const strangers = rows.filter(row => !known.has(row.requestId)).length
  const headless = asked.filter(one => one.requestId === null && one.outcome !== 'unreachable').length
  if (strangers > headless) problems.push(`${strangers} rows of requests nobody sent (${headless} without a head)`)
  return {
    problems,
    figures: {
      'requests sent': asked.length,
      'rows in the books': rows.length,
      'seen whole, charged to the micro-unit': exact,
      'seen whole, nothing reported, counted': counted,
      'seen whole, part of the report disputed': disputed,
      'seen whole, usage shown as in the books': shown,
      'seen whole by translation': [...pairs]
        .map(([pair, count]) => `${pair} ${count}`)
        .sort()
        .join(', '),
      'receipts that were recomputed': rows.length,
      'attempts given up, with a cost of their own': attempts.length,
      'rows of requests whose client saw no head': strangers,
    },
  } satisfies Comparison
}

/** Checks the books themselves: the audit is ok, nothing is leased or held, and a balance is below zero only by what was charged above holds. */
export async function auditBooks(store: Store, rows: UsageRow[]): Promise<Comparison> {
  const audit = await store.audit()
  const problems: string[] = []
  const sum = rows.reduce((total, row) => total + row.charge, 0)
  if (!audit.ok) problems.push(`the audit finds ${audit.imbalance} out of balance: accounts ${audit.broken}`)
  if (audit.leased !== 0) problems.push(`${audit.leased} still leased`)
  if (audit.charges !== sum) problems.push(`charges of ${audit.charges}, rows of ${sum}`)
  const held = await store.holders.heldByOthers(null, [])
  if (held.size > 0) problems.push(`still held: ${[...held]}`)
  const holders = await store.holders.list()
  if (holders.length > 0) problems.push(`processes nobody buried: ${holders.map(({ id }) => id)}`)
  for (const { id, name } of await store.accounts.list()) {
    const [purse] = await store.books.purses([`a${id}`])
    // only by what was charged above holds
    const above = rows
      .filter(row => row.accountId === id)
      .reduce((all, row) => all + Math.max(0, row.charge - (row.held ?? 0)), 0)
    if (purse!.credit! + above < purse!.spent)
      problems.push(
        `${name} is overdrawn: ${purse!.spent} of ${purse!.credit}, of which ${above} were charged above holds`,
      )
  }
  const figures = { 'charged in all, CNY': formatMicro(audit.charges), 'imbalance, CNY': formatMicro(audit.imbalance) }
  return { problems, figures }
}
