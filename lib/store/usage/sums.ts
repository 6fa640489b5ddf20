/**
 * The sums of usage: rows added up by the hour and by the day, for keys and for accounts, by the day of all accounts together,
 * by the day of a key whatever it was used for, and by the hour of a model. A batch of rows raises them in the transaction that inserts the rows, with one upsert for each
 * key that the batch touches. All gateways raise the keys in the same order, so that
 * two transactions never wait for each other, and as the last statement, so that they wait briefly.
 *
 * Days begin at midnight of UTC+8. A report over whole days of that zone reads days only; of other zones, and of parts of
 * days, it reads hours.
 */
import { HOUR_MS } from '../../base/clock.ts'
import { countColumns } from './rows.ts'
import type { Table } from '../base/tables.ts'
import {
  FIRST_BYTE_BOUNDS_MS,
  type RowFields,
  LINE_SUMS,
  ROW_COUNTS,
  type RowToBook,
  cut,
  REPORTED_SUMS,
  SetLately,
} from './rows.ts'
import { timeOfId } from '../../base/ids.ts'
import { type Outcome, outcomeOf } from '../../terms/usage-row.ts'
import type { Dialect, ManyRows, Param, Transaction } from '../base/driver.ts'
import { binds, integer, orNull } from '../base/text.ts'

/**
 * An hour or a day of one key; a day of all accounts together, whose `account_id` and `key_id` are 0; an hour of a model in
 * a group over all accounts, channels and protocols, which says how the model fares and has no money in it (see
 * `models.ts`); an hour or a day of one account, whose `key_id` is 0 and whose channel is empty, because an account
 * may have thousands of keys; and a day of one key over all that it was used for, with every name but the outcome empty,
 * which is what thousands of keys are compared by.
 */
export const GRAIN = { hour: 1, day: 2, dayOfAll: 3, hourOfModel: 4, accountHour: 5, accountDay: 6, keyDay: 7 } as const

/**
 * The order in which sums are raised. All gateways have the same one, so that two transactions never wait for each other.
 * Those over all accounts are what all gateways raise at once, so they come last.
 */
const RAISED = [
  GRAIN.hour,
  GRAIN.day,
  GRAIN.keyDay,
  GRAIN.accountHour,
  GRAIN.accountDay,
  GRAIN.dayOfAll,
  GRAIN.hourOfModel,
] as const

/** Outcomes that say something of a model: the others are the client's doing, or no request. */
export const TELLING_OUTCOMES = ['ok', 'upstream'] as const

/** What sums are kept by. The order is that of the key. */
export const SUM_KEY = [
  // What the sums are of, see GRAIN.
  'grain',
  // The hour, or the first hour of the day, counted from 1970 in UTC.
  'hour_no',
  'account_id',
  'key_id',
  'model',
  'group_name',
  'channel',
  'protocol',
  'outcome',
] as const

export const FIRST_BYTE_BUCKETS = [...FIRST_BYTE_BOUNDS_MS.map((_, i) => `first_byte_${i}`), 'first_byte_11'] as const

export const SUM_COLUMNS: readonly string[] = [...REPORTED_SUMS, 'first_byte_ms', ...FIRST_BYTE_BUCKETS]

export const USAGE_SUMS: Table = {
  name: 'usage_sums',
  columns: {
    grain: 'int',
    hour_no: 'int',
    account_id: 'int',
    key_id: 'int',
    model: 'name',
    group_name: 'name',
    channel: 'name',
    protocol: 'code',
    outcome: 'code',
    ...countColumns(SUM_COLUMNS),
  },
  key: [...SUM_KEY],
}

export const CHARGED_HOURS: Table = {
  name: 'charged_hours',
  // hour_no: counted from 1970 in UTC, by the store's clock at the moment of booking.
  columns: { account_id: 'int', hour_no: 'int', charge: 'int' },
  key: ['account_id', 'hour_no'],
}

export const DAY_HOURS = 24
/** Days of the sums begin at midnight of the zone that is so many hours ahead of UTC. */
export const DAY_OFFSET_HOURS = 8

export const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS)
/** The first hour of the day in which an hour is. */
export const dayOf = (hour: number): number =>
  Math.floor((hour + DAY_OFFSET_HOURS) / DAY_HOURS) * DAY_HOURS - DAY_OFFSET_HOURS

const COLUMNS = [...SUM_KEY, ...SUM_COLUMNS]
const at = (name: string) => SUM_COLUMNS.indexOf(name)
const FIRST_COUNT = at(ROW_COUNTS[0])
const CHARGE = at('charge')
const COST = at('cost')
const UNCOSTED = at('uncosted')
const FIRST_OF_LINES = at(LINE_SUMS[0] as string)
const FIRST_BYTE = at('first_byte_ms')
const FIRST_BUCKET = at(FIRST_BYTE_BUCKETS[0] as string)

/** Adds a row to `sums`, which are in the order of SUM_COLUMNS. The row of an attempt has a cost, and is no request. */
function addRow(sums: number[], { fields: row, lineSums }: RowToBook, outcome: Outcome): void {
  if (outcome !== 'attempt') sums[0]! += 1
  for (let i = 0; i < ROW_COUNTS.length; i++) add(sums, FIRST_COUNT + i, row[ROW_COUNTS[i]!])
  sums[CHARGE]! += row.charge
  if (row.cost === null) sums[UNCOSTED]! += row.charge
  else add(sums, COST, row.cost)
  if (lineSums !== null) addTo(sums, FIRST_OF_LINES, lineSums)
  if (row.firstByteMs === null) return
  const ms = Math.round(row.firstByteMs)
  sums[FIRST_BYTE]! += ms
  let bucket = 0
  while (bucket < FIRST_BYTE_BOUNDS_MS.length && ms > FIRST_BYTE_BOUNDS_MS[bucket]!) bucket++
  sums[FIRST_BUCKET + bucket]! += 1
}

function addTo(sums: number[], from: number, more: readonly number[]): void {
  for (let i = 0; i < more.length; i++) add(sums, from + i, more[i]!)
}

/** What an upstream falsely reports may come to more than a number can tell, and than a column takes: then it counts as the most of that. */
function add(sums: number[], i: number, more: number): void {
  sums[i] = Math.min(Number.MAX_SAFE_INTEGER, sums[i]! + more)
}

/** Rows of one key and hour that agree in all that sums are kept by. */
interface Alike {
  first: RowFields
  hour: number
  outcome: Outcome
  sums: number[]
}

const isAlike = ({ first, hour, outcome }: Alike, row: RowFields, hourOfRow: number, outcomeOfRow: Outcome): boolean =>
  hour === hourOfRow &&
  outcome === outcomeOfRow &&
  first.accountId === row.accountId &&
  first.model === row.model &&
  first.channel === row.channel &&
  first.group === row.group &&
  first.protocol === row.protocol

/**
 * The rows that are alike, added up. Most rows of a batch are like others, so a row is compared with the sums of its key
 * that are there, which allocates nothing, unlike a text of all that sums are kept by.
 */
function alike(rows: readonly RowToBook[]): Alike[] {
  const byKey = new Map<number, Alike[]>()
  for (const one of rows) {
    const row = one.fields
    const hour = hourOf(timeOfId(row.requestId))
    const outcome = outcomeOf(row)
    let ofKey = byKey.get(row.keyId)
    if (ofKey === undefined) byKey.set(row.keyId, (ofKey = []))
    let found: Alike | undefined
    for (let i = ofKey.length - 1; i >= 0 && found === undefined; i--)
      if (isAlike(ofKey[i]!, row, hour, outcome)) found = ofKey[i]
    if (found === undefined) ofKey.push((found = { first: row, hour, outcome, sums: SUM_COLUMNS.map(() => 0) }))
    addRow(found.sums, one, outcome)
  }
  return [...byKey.values()].flat()
}

type Key = readonly [number, number, number, number, string, string, string, string, string]

/** What of the sums tells how a model fares. */
const ofModel = (sums: readonly number[]): number[] =>
  sums.map((sum, i) => (i === 0 || (i >= FIRST_BUCKET && i < FIRST_BUCKET + FIRST_BYTE_BUCKETS.length) ? sum : 0))

const modelKeyOf = ({ first, hour, outcome }: Alike): Key | null =>
  (TELLING_OUTCOMES as readonly Outcome[]).includes(outcome)
    ? [GRAIN.hourOfModel, hour, 0, 0, cut(first.model), cut(first.group), '', '', outcome]
    : null

function keysOf({ first, hour, outcome }: Alike): Key[] {
  const day = dayOf(hour)
  const names = [cut(first.model), cut(first.group), cut(first.channel), first.protocol, outcome] as const
  const ofAccount = [names[0], names[1], '', names[3], names[4]] as const
  return [
    [GRAIN.hour, hour, first.accountId, first.keyId, ...names],
    [GRAIN.day, day, first.accountId, first.keyId, ...names],
    [GRAIN.keyDay, day, first.accountId, first.keyId, '', '', '', '', outcome],
    [GRAIN.accountHour, hour, first.accountId, 0, ...ofAccount],
    [GRAIN.accountDay, day, first.accountId, 0, ...ofAccount],
    [GRAIN.dayOfAll, day, 0, 0, ...names],
  ]
}

const RANKS = new Map<number, number>(RAISED.map((grain, rank) => [grain, rank]))
const rankOf = ([grain]: readonly Param[]) => RANKS.get(grain as number) as number

function compare(a: readonly Param[], b: readonly Param[]): number {
  if (a[0] !== b[0]) return rankOf(a) - rankOf(b)
  for (let i = 1; i < SUM_KEY.length; i++) {
    const [x, y] = [a[i] as string, b[i] as string]
    if (x !== y) return x < y ? -1 : 1
  }
  return 0
}

/** What the rows come to, in the order in which sums are raised: values of all columns. */
export function sumsOf(rows: readonly RowToBook[]): Param[][] {
  const all = new Map<string, { key: Key; sums: number[] }>()
  const raise = (key: Key, sums: readonly number[]) => {
    const name = JSON.stringify(key)
    const there = all.get(name)
    if (there === undefined) all.set(name, { key, sums: sums.slice() })
    else addTo(there.sums, 0, sums)
  }
  for (const one of alike(rows)) {
    for (const key of keysOf(one)) raise(key, one.sums)
    const ofModels = modelKeyOf(one)
    if (ofModels !== null) raise(ofModels, ofModel(one.sums))
  }
  return [...all.values()].sort((a, b) => compare(a.key, b.key)).map(({ key, sums }) => [...key, ...sums.map(orNull)])
}

/** The bit of each sum, by which a batch says of which it has any. Those of lines, which are seldom, share one. */
const BITS = SUM_COLUMNS.map(
  (_, i) => 1 << (i < FIRST_OF_LINES ? i : Math.max(FIRST_OF_LINES, i - LINE_SUMS.length + 1)),
)

/** How sums are raised that have values of these bits alone: the text, and the places of its values. */
function formOf(bits: number, dialect: Dialect) {
  const named = SUM_COLUMNS.filter((_, i) => (bits & BITS[i]!) !== 0)
  const columns = [...SUM_KEY, ...named]
  const many: ManyRows = {
    into: `INSERT INTO usage_sums (${columns.join(', ')})`,
    row: `(${binds(columns.length)})`,
    end: dialect.raise(SUM_KEY, named),
  }
  return { bits, dialect, many, places: columns.map(name => COLUMNS.indexOf(name)) }
}

const lately = new SetLately()
let form: ReturnType<typeof formOf> | null = null

/** Adds `sums`, which are in the order of their keys, to those that are there. Names only columns of which there are any, as `insertBooked` does. */
export function raiseSums(tx: Transaction, dialect: Dialect, sums: readonly (readonly Param[])[]): Promise<void> {
  let bits = 1 // an upsert without any column would be no SQL
  for (const values of sums)
    for (let i = 0; i < BITS.length; i++) if (values[SUM_KEY.length + i] !== null) bits |= BITS[i]!
  bits = lately.with(bits)
  if (form?.bits !== bits || form.dialect !== dialect) form = formOf(bits, dialect)
  const { many, places } = form
  return tx.insert(
    many,
    sums.map(values => places.map(i => values[i] as Param)),
  )
}

const INTO_HOURS = 'INSERT INTO charged_hours (account_id, hour_no, charge)'

/** The time at which a batch is booked, by the store's clock. One time for all its rows keeps rows and sums in agreement. */
export async function bookingTime(tx: Transaction, dialect: Dialect): Promise<number> {
  if (dialect.now === null) return Date.now() // the engine runs on this machine's clock
  const [row] = await tx.query(`SELECT ${dialect.nowMs} AS now`, [])
  return integer(row!, 'now')
}

export async function raiseChargedHours(
  tx: Transaction,
  dialect: Dialect,
  rows: readonly RowToBook[],
  bookedAtMs: number,
): Promise<void> {
  const charges = new Map<number, number>()
  for (const { fields } of rows) {
    const { accountId, charge } = fields
    if (charge !== 0) charges.set(accountId, (charges.get(accountId) ?? 0) + charge)
  }
  if (charges.size === 0) return
  const hour = Math.floor(bookedAtMs / HOUR_MS)
  const sums = [...charges].sort(([a], [b]) => a - b).map(([accountId, charge]) => [accountId, hour, charge])
  await tx.insert(
    { into: INTO_HOURS, row: '(?, ?, ?)', end: dialect.raise(['account_id', 'hour_no'], ['charge']) },
    sums,
  )
}
