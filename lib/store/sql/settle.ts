/**
 * Settlements into the books. The usual batch is two statements in one transaction: the usage rows, whose primary key
 * makes each count once, and one UPDATE of the holder's leases. A third one raises purses by what was charged without
 * lease. Only when a row is there already, or a lease does not hold what a settlement says, is the batch looked at
 * closely: in another transaction, with the rows locked before they are read.
 */
import { invariant } from '../../base/assert.ts'
import { timeOfId } from '../../base/ids.ts'
import type { UsageRow } from '../../terms/records.ts'
import { type Driver, DuplicateKey, type Param, type Statements } from '../driver.ts'
import { accountPurse, keyPurse, type PurseId, type Settled, type Settlement, StoreUnavailable } from '../store.ts'
import { NAME_LENGTH } from '../tables.ts'
import { answerKey } from './answers.ts'
import { prunedBefore } from './prune.ts'
import { caseOf, chunks, integer, marks, padded, text } from './text.ts'

export const USAGE_COLUMNS =
  'request_id, account_id, key_id, group_name, protocol, model, channel, status, ended, basis, charge, ' +
  'first_byte_ms, duration_ms, input, cache_read, cache_write_5m, cache_write_1h, output, images, answer_id, upstream_key'
const COLUMN_COUNT = USAGE_COLUMNS.split(',').length
const CLOSE_TRIES = 5
/** Rows in one INSERT: more would keep the event loop longer at writing them out than the round trip saves. */
const INSERT_ROWS = 256

/** Longer names than the catalogue allows would stop the settler for good. */
const name = (value: string) => value.slice(0, NAME_LENGTH)

function pushValues(params: Param[], row: UsageRow): void {
  const first = row.firstByteMs === null ? null : Math.round(row.firstByteMs)
  params.push(
    row.requestId,
    row.accountId,
    row.keyId,
    name(row.group),
    row.protocol,
    name(row.model),
    name(row.channel),
  )
  params.push(row.status, row.end, row.basis, row.charge, first, Math.round(row.durationMs))
  params.push(row.input, row.cache_read, row.cache_write_5m, row.cache_write_1h, row.output, row.images)
  params.push(row.answerId === null ? null : answerKey(row.answerId), row.upstreamKey)
}

/** What a batch does to purses and leases, summed. */
interface Sums {
  /** Charged without lease, by purse. */
  unleased: Map<PurseId, number>
  /** By holder, by purse. */
  leased: Map<string, Map<PurseId, number>>
}

const addTo = (map: Map<PurseId, number>, purse: PurseId, amount: number) => {
  if (amount !== 0) map.set(purse, (map.get(purse) ?? 0) + amount)
}

function sum(batch: readonly Settlement[]): Sums {
  const sums: Sums = { unleased: new Map(), leased: new Map() }
  for (const { row, holder, fromAccountLease, fromKeyLease } of batch) {
    const { charge } = row
    invariant(
      fromAccountLease >= 0 && fromAccountLease <= charge && fromKeyLease >= 0 && fromKeyLease <= charge,
      `settlement ${row.requestId}: leases pay ${fromAccountLease} and ${fromKeyLease} of ${charge}`,
    )
    let leased = sums.leased.get(holder)
    if (leased === undefined) sums.leased.set(holder, (leased = new Map()))
    addTo(leased, accountPurse(row.accountId), fromAccountLease)
    addTo(leased, keyPurse(row.keyId), fromKeyLease)
    addTo(sums.unleased, accountPurse(row.accountId), charge - fromAccountLease)
    addTo(sums.unleased, keyPurse(row.keyId), charge - fromKeyLease)
  }
  return sums
}

const inOrder = <V>(map: Map<PurseId, V>): [PurseId, V][] => [...map].sort(([a], [b]) => (a < b ? -1 : 1))

/** Rows cannot be repeated to fill up, and each count is a text of its own: servers bound how many they keep. */
const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0

async function insertUsage(tx: Statements, batch: readonly Settlement[]): Promise<void> {
  for (const some of chunks(batch, INSERT_ROWS)) {
    const params: Param[] = []
    for (const { row } of some) pushValues(params, row)
    const values = Array(some.length)
      .fill(`(${marks(COLUMN_COUNT)})`)
      .join(', ')
    await tx.run(`INSERT INTO usage_rows (${USAGE_COLUMNS}) VALUES ${values}`, params, !isPowerOfTwo(some.length))
  }
}

async function raisePurses(tx: Statements, amounts: Map<PurseId, number>): Promise<void> {
  for (const some of chunks(inOrder(amounts))) {
    const pairs = padded(some)
    const sql = `UPDATE purses SET promised = promised + ${caseOf('id', pairs.length)} WHERE id IN (${marks(pairs.length)})`
    await tx.run(sql, [...pairs.flat(), ...pairs.map(([id]) => id)])
  }
}

/** Lowers only leases that hold as much; returns whether all did. */
async function lowerLeases(tx: Statements, holder: string, amounts: Map<PurseId, number>): Promise<boolean> {
  let all = true
  for (const some of chunks(inOrder(amounts))) {
    const pairs = padded(some)
    const amount = caseOf('purse_id', pairs.length)
    const sql =
      `UPDATE leases SET amount = amount - ${amount} ` +
      `WHERE holder = ? AND purse_id IN (${marks(pairs.length)}) AND amount >= ${amount}`
    const flat = pairs.flat()
    const { changes } = await tx.run(sql, [...flat, holder, ...pairs.map(([id]) => id), ...flat])
    all &&= changes === some.length
  }
  return all
}

class LeaseTooSmall extends Error {}

/** Applies a batch, and returns what of it was there already. */
type Apply = (tx: Statements, batch: readonly Settlement[]) => Promise<Known>

async function settleAll(tx: Statements, batch: readonly Settlement[]): Promise<Known> {
  const { unleased, leased } = sum(batch)
  await insertUsage(tx, batch)
  if (unleased.size > 0) await raisePurses(tx, unleased)
  for (const [holder, amounts] of leased) {
    if (!(await lowerLeases(tx, holder, amounts))) throw new LeaseTooSmall()
  }
  return { repeated: [], clashing: [] }
}

interface Known {
  repeated: Settlement[]
  clashing: Settlement[]
}

/** What tells two requests apart that have the same id. */
const COMPARED = ['account_id', 'key_id', 'charge', 'duration_ms', 'output'] as const
const contentOf = ({ row }: Settlement): string =>
  [row.accountId, row.keyId, row.charge, Math.round(row.durationMs), row.output].join(' ')

/** The content of the rows that are in the books, by request id. */
async function present(tx: Statements, batch: readonly Settlement[]): Promise<Map<string, string>> {
  const content = new Map<string, string>()
  for (const some of chunks(batch)) {
    const asked = padded(some.map(({ row }) => row.requestId))
    const sql = `SELECT request_id, ${COMPARED.join(', ')} FROM usage_rows WHERE request_id IN (${marks(asked.length)})`
    for (const row of await tx.query(sql, asked))
      content.set(text(row, 'request_id'), COMPARED.map(column => integer(row, column)).join(' '))
  }
  return content
}

/** Those whose id is in `there` go to `known`; the others are returned. */
function unknown(batch: readonly Settlement[], there: ReadonlyMap<string, string>, known: Known): Settlement[] {
  return batch.filter(settlement => {
    const content = there.get(settlement.row.requestId)
    if (content === undefined) return true
    known[content === contentOf(settlement) ? 'repeated' : 'clashing'].push(settlement)
    return false
  })
}

async function lockPurses(tx: Statements, ids: PurseId[]): Promise<void> {
  for (const some of chunks(ids.sort())) {
    const asked = padded(some)
    await tx.run(`UPDATE purses SET promised = promised WHERE id IN (${marks(asked.length)})`, asked)
  }
}

/** What each lease can pay of what is asked of it; the rest goes over to `unleased`. */
async function payable(tx: Statements, holder: string, asked: Map<PurseId, number>, unleased: Map<PurseId, number>) {
  const pays = new Map<PurseId, number>()
  for (const some of chunks([...asked.keys()].sort())) {
    const ids = padded(some)
    const where = `WHERE holder = ? AND purse_id IN (${marks(ids.length)})`
    await tx.run(`UPDATE leases SET amount = amount ${where}`, [holder, ...ids])
    for (const row of await tx.query(`SELECT purse_id, amount FROM leases ${where}`, [holder, ...ids])) {
      const purse = text(row, 'purse_id') as PurseId
      addTo(pays, purse, Math.min(asked.get(purse)!, Math.max(0, integer(row, 'amount'))))
    }
  }
  for (const [purse, amount] of asked) addTo(unleased, purse, amount - (pays.get(purse) ?? 0))
  return pays
}

async function settleClosely(tx: Statements, batch: readonly Settlement[]): Promise<Known> {
  const known: Known = { repeated: [], clashing: [] }
  const fresh = unknown(batch, await present(tx, batch), known)
  if (fresh.length === 0) return known
  await insertUsage(tx, fresh)
  const { unleased, leased } = sum(fresh)
  await lockPurses(tx, [...new Set([...unleased.keys(), ...[...leased.values()].flatMap(map => [...map.keys()])])])
  for (const [holder, asked] of leased) {
    const pays = await payable(tx, holder, asked, unleased)
    invariant(await lowerLeases(tx, holder, pays), `leases of ${holder} changed under their lock`)
  }
  if (unleased.size > 0) await raisePurses(tx, unleased)
  return known
}

/** Each request once, in key order; what stands in the batch twice goes to `known`. */
function distinct(batch: readonly Settlement[], known: Known): Settlement[] {
  const byId = new Map<string, Settlement>()
  for (const settlement of batch) {
    const { requestId } = settlement.row
    const before = byId.get(requestId)
    if (before === undefined) byId.set(requestId, settlement)
    else unknown([settlement], new Map([[requestId, contentOf(before)]]), known)
  }
  return [...byId.values()].sort((a, b) => (a.row.requestId < b.row.requestId ? -1 : 1))
}

/** Those that may have counted under a row that is pruned by now. */
async function unsureOf(tx: Statements, batch: readonly Settlement[]): Promise<Settlement[]> {
  const before = await prunedBefore(tx)
  const old = batch.filter(({ row }) => timeOfId(row.requestId) < before)
  if (old.length === 0) return old
  const there = await present(tx, old)
  return old.filter(({ row }) => !there.has(row.requestId))
}

export async function settle(driver: Driver, settlements: readonly Settlement[], again: boolean): Promise<Settled> {
  const twice: Known = { repeated: [], clashing: [] }
  const batch = distinct(settlements, twice)
  const attempt = (apply: Apply): Promise<Settled> =>
    driver.transaction('settle', async tx => {
      const unsure = again ? await unsureOf(tx, batch) : []
      const sure = unsure.length === 0 ? batch : batch.filter(settlement => !unsure.includes(settlement))
      const { repeated, clashing } = await apply(tx, sure)
      return {
        applied: sure.length - repeated.length - clashing.length,
        repeated: [...twice.repeated, ...repeated],
        clashing: [...twice.clashing, ...clashing],
        unsure,
      }
    })
  if (batch.length === 0) return { applied: 0, ...twice, unsure: [] }
  try {
    return await attempt(settleAll)
  } catch (error) {
    if (!(error instanceof DuplicateKey || error instanceof LeaseTooSmall)) throw error
  }
  for (let tries = 0; tries < CLOSE_TRIES; tries++) {
    try {
      return await attempt(settleClosely)
    } catch (error) {
      // Another process is applying the same journal at this moment.
      if (!(error instanceof DuplicateKey)) throw error
    }
  }
  throw new StoreUnavailable('settle: other processes keep inserting the same requests')
}
