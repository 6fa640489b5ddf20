/**
 * Writes settlements into the books, exactly once each.
 *
 * The fast path is one transaction with four statements: an INSERT of the usage rows, whose request ids are unique, so that a repeated
 * settlement is rejected; an UPDATE that lowers the holder's leases by the charges; and upserts of the sums of usage and of the charges by
 * hour of booking. Three more are made only where they are needed: one reads the clock of an engine that has its own, one inserts
 * disputes, and one raises `promised` of the purses for charges that no lease pays.
 *
 * The fast path rolls back when a usage row exists already, or when a lease has less than the settlements say. Then the
 * slow path runs (`settleClosely`): it leaves out what is in the books already, locks purses and leases before it reads
 * them, and takes what the leases cannot pay from the purses.
 */
import { type PurseId, accountPurse, keyPurse } from './purses.ts'
import { timeOfId } from '../../base/ids.ts'
import { type BesideEngine, type Dialect, type Driver, DuplicateKey, type Transaction } from '../base/driver.ts'
import { prunedBefore } from '../usage/prune.ts'
import { caseOf, chunks, integer, integerOrNull, binds, padded, text } from '../base/text.ts'
import { invariant } from '../../base/assert.ts'
import { StoreUnavailable } from '../base/errors.ts'
import { insertDisputes } from './disputes.ts'
import { bookingTime, raiseChargedHours, raiseSums, sumsOf } from '../usage/sums.ts'
import { insertBooked } from '../usage/rows.ts'
import { type Batch, type Booking, bookingsOf, type Settled, settlementsOf } from './settlement.ts'

/** Bookings whose request id is in the books: `repeated` with the same content, `clashing` with another. */
interface Known {
  repeated: Booking[]
  clashing: Booking[]
}

/** The columns by which two different requests with one id are told apart. An output of 0 stands in its column as NULL. */
const COMPARED = ['account_id', 'key_id', 'charge', 'duration_ms', 'output'] as const
const contentOf = ({ fields }: Booking): string =>
  [fields.accountId, fields.keyId, fields.charge, Math.round(fields.durationMs), fields.output].join(' ')

/** The compared content of those of the batch that are in the books, by request id. */
async function contentInBooks(tx: Transaction, batch: readonly Booking[]): Promise<Map<string, string>> {
  const content = new Map<string, string>()
  for (const some of chunks(batch)) {
    const asked = padded(some.map(({ fields }) => fields.requestId))
    const sql = `SELECT request_id, ${COMPARED.join(', ')} FROM usage_log WHERE request_id IN (${binds(asked.length)})`
    for (const row of await tx.query(sql, asked))
      content.set(text(row, 'request_id'), COMPARED.map(column => integerOrNull(row, column) ?? 0).join(' '))
  }
  return content
}

/** Returns the settlements whose id is not in `there`, and adds the others to one of the lists of `known`. */
function withoutKnown(batch: readonly Booking[], there: ReadonlyMap<string, string>, known: Known): Booking[] {
  return batch.filter(settlement => {
    const content = there.get(settlement.fields.requestId)
    if (content === undefined) return true
    known[content === contentOf(settlement) ? 'repeated' : 'clashing'].push(settlement)
    return false
  })
}

/** The batch without repetitions, in the order of request ids; a second settlement with the same id goes to `known`. */
function distinct(batch: readonly Booking[], known: Known): Booking[] {
  let first: Booking | undefined
  return batch
    .toSorted((a, b) => (a.fields.requestId < b.fields.requestId ? -1 : 1))
    .filter(settlement => {
      if (first?.fields.requestId !== settlement.fields.requestId) {
        first = settlement
        return true
      }
      withoutKnown([settlement], new Map([[first.fields.requestId, contentOf(first)]]), known)
      return false
    })
}

/**
 * The settlements that are older than the last pruning and not in the books: their rows may have been there and
 * deleted.
 */
async function unsureOf(tx: Transaction, batch: readonly Booking[]): Promise<Booking[]> {
  const before = await prunedBefore(tx)
  const old = batch.filter(({ fields }) => timeOfId(fields.requestId) < before)
  if (old.length === 0) return old
  const there = await contentInBooks(tx, old)
  return old.filter(({ fields }) => !there.has(fields.requestId))
}

/** The engine looks for each row's amount from the first pair of a CASE on, so that many pairs in one statement take long. */
const CASE_PAIRS = 128

/** What a batch takes from purses and leases in total. */
interface Sums {
  /** Charges that no lease pays, by purse. */
  unleased: Map<PurseId, number>
  /** Charges that leases pay, by holder and purse. */
  leased: Map<string, Map<PurseId, number>>
}

const addTo = (map: Map<PurseId, number>, purse: PurseId, amount: number) => {
  if (amount !== 0) map.set(purse, (map.get(purse) ?? 0) + amount)
}

function takenBy(batch: readonly Booking[]): Sums {
  const sums: Sums = { unleased: new Map(), leased: new Map() }
  for (const { fields: row, holder, fromAccountLease, fromKeyLease, limits } of batch) {
    const { charge } = row
    invariant(
      fromAccountLease >= 0 && fromAccountLease <= charge && fromKeyLease >= 0 && fromKeyLease <= charge,
      `settlement ${row.requestId}: leases pay ${fromAccountLease} and ${fromKeyLease} of ${charge}`,
    )
    let leased = sums.leased.get(holder)
    if (leased === undefined) sums.leased.set(holder, (leased = new Map()))
    const account = accountPurse(row.accountId)
    const key = keyPurse(row.keyId)
    addTo(leased, account, fromAccountLease)
    addTo(leased, key, fromKeyLease)
    addTo(sums.unleased, account, charge - fromAccountLease)
    addTo(sums.unleased, key, charge - fromKeyLease)
    for (const { purse, fromLease } of limits) {
      invariant(
        fromLease >= 0 && fromLease <= charge,
        `settlement ${row.requestId}: a lease of ${purse} pays ${fromLease}`,
      )
      addTo(leased, purse, fromLease)
      addTo(sums.unleased, purse, charge - fromLease)
    }
  }
  return sums
}

const inOrder = <V>(map: Map<PurseId, V>): [PurseId, V][] => [...map].sort(([a], [b]) => (a < b ? -1 : 1))

async function raisePurses(tx: Transaction, amounts: Map<PurseId, number>): Promise<void> {
  for (const some of chunks(inOrder(amounts), CASE_PAIRS)) {
    const pairs = padded(some)
    const sql = `UPDATE purses SET promised = promised + ${caseOf('id', pairs.length)} WHERE id IN (${binds(pairs.length)})`
    await tx.run(sql, [...pairs.flat(), ...pairs.map(([id]) => id)])
  }
}

/** Lowers the leases that have at least the given amount; false when one of them has less. */
async function lowerLeases(tx: Transaction, holder: string, amounts: Map<PurseId, number>): Promise<boolean> {
  let all = true
  for (const some of chunks(inOrder(amounts), CASE_PAIRS)) {
    const pairs = padded(some)
    const amount = caseOf('purse_id', pairs.length)
    const sql =
      `UPDATE leases SET amount = amount - ${amount} ` +
      `WHERE holder = ? AND purse_id IN (${binds(pairs.length)}) AND amount >= ${amount}`
    const flat = pairs.flat()
    const { changes } = await tx.run(sql, [...flat, holder, ...pairs.map(([id]) => id), ...flat])
    all &&= changes === some.length
  }
  return all
}

async function lockPurses(tx: Transaction, ids: PurseId[]): Promise<void> {
  for (const some of chunks(ids.sort())) {
    const asked = padded(some)
    await tx.run(`UPDATE purses SET promised = promised WHERE id IN (${binds(asked.length)})`, asked)
  }
}

/** Locks the leases and returns how much of `asked` each can pay. The rest is added to `unleased`. */
async function payable(tx: Transaction, holder: string, asked: Map<PurseId, number>, unleased: Map<PurseId, number>) {
  const pays = new Map<PurseId, number>()
  for (const some of chunks([...asked.keys()].sort())) {
    const ids = padded(some)
    const where = `WHERE holder = ? AND purse_id IN (${binds(ids.length)})`
    await tx.run(`UPDATE leases SET amount = amount ${where}`, [holder, ...ids])
    for (const row of await tx.query(`SELECT purse_id, amount FROM leases ${where}`, [holder, ...ids])) {
      const purse = text(row, 'purse_id') as PurseId
      addTo(pays, purse, Math.min(asked.get(purse)!, Math.max(0, integer(row, 'amount'))))
    }
  }
  for (const [purse, amount] of asked) addTo(unleased, purse, amount - (pays.get(purse) ?? 0))
  return pays
}

/** How often the slow path is tried, which another process that applies the same journal may disturb. */
const CLOSE_TRIES = 5

/** Adds the rows to the sums of usage, and their charges to the hour of booking. */
async function addToSums(
  tx: Transaction,
  dialect: Dialect,
  rows: readonly Booking[],
  bookedAtMs: number,
): Promise<void> {
  await raiseSums(tx, dialect, sumsOf(rows))
  await raiseChargedHours(tx, dialect, rows, bookedAtMs)
}

/** A lease has less than the settlements say that it pays: the fast path ends, and its transaction is rolled back. */
class LeaseTooSmall extends Error {}

/** One of the two paths: writes a batch, and returns the settlements whose request ids were in the books already. */
type Apply = (tx: Transaction, dialect: Dialect, batch: readonly Booking[]) => Promise<Known>

/** The fast path. Throws DuplicateKey or LeaseTooSmall where the slow path is needed. */
async function settleAll(tx: Transaction, dialect: Dialect, batch: readonly Booking[]): Promise<Known> {
  const { unleased, leased } = takenBy(batch)
  const bookedAtMs = await bookingTime(tx, dialect)
  await insertBooked(tx, batch, bookedAtMs)
  await insertDisputes(tx, batch)
  if (unleased.size > 0) await raisePurses(tx, unleased)
  for (const [holder, amounts] of leased) {
    if (!(await lowerLeases(tx, holder, amounts))) throw new LeaseTooSmall()
  }
  await addToSums(tx, dialect, batch, bookedAtMs)
  return { repeated: [], clashing: [] }
}

/** The slow path. Throws DuplicateKey when another process has inserted a row meanwhile. */
async function settleClosely(tx: Transaction, dialect: Dialect, batch: readonly Booking[]): Promise<Known> {
  const known: Known = { repeated: [], clashing: [] }
  const fresh = withoutKnown(batch, await contentInBooks(tx, batch), known)
  if (fresh.length === 0) return known
  const bookedAtMs = await bookingTime(tx, dialect)
  await insertBooked(tx, fresh, bookedAtMs)
  await insertDisputes(tx, fresh)
  const { unleased, leased } = takenBy(fresh)
  await lockPurses(tx, [...new Set([...unleased.keys(), ...[...leased.values()].flatMap(map => [...map.keys()])])])
  for (const [holder, asked] of leased) {
    const pays = await payable(tx, holder, asked, unleased)
    invariant(await lowerLeases(tx, holder, pays), `leases of ${holder} changed under their lock`)
  }
  if (unleased.size > 0) await raisePurses(tx, unleased)
  await addToSums(tx, dialect, fresh, bookedAtMs)
  return known
}

/** Books a batch on this driver. The result tells of the settlements themselves, and is the same in any thread. */
async function book(driver: Pick<Driver, 'dialect' | 'transaction'>, all: Batch, again: boolean): Promise<Settled> {
  const twice: Known = { repeated: [], clashing: [] }
  const batch = distinct(bookingsOf(all), twice)
  const attempt = (apply: Apply): Promise<Settled> =>
    driver.transaction('settle', async tx => {
      const unsure = again ? await unsureOf(tx, batch) : []
      const sure = unsure.length === 0 ? batch : batch.filter(booking => !unsure.includes(booking))
      const { repeated, clashing } = await apply(tx, driver.dialect, sure)
      return {
        applied: sure.length - repeated.length - clashing.length,
        repeated: settlementsOf(all, [...twice.repeated, ...repeated]),
        clashing: settlementsOf(all, [...twice.clashing, ...clashing]),
        unsure: settlementsOf(all, unsure),
      }
    })
  try {
    return await attempt(settleAll)
  } catch (error) {
    if (!(error instanceof DuplicateKey || error instanceof LeaseTooSmall)) throw error
  }
  for (let tries = 0; tries < CLOSE_TRIES; tries++) {
    try {
      return await attempt(settleClosely)
    } catch (error) {
      // Another process applies the same journal now and has inserted a row since `contentInBooks` was read.
      if (!(error instanceof DuplicateKey)) throw error
    }
  }
  throw new StoreUnavailable('settle: other processes keep inserting the same requests')
}

/** `settle` in the engine's own thread. */
export const beside: BesideEngine = (driver, batch, again) => book(driver, batch as Batch, again as boolean)

/**
 * Settles where it takes this thread least: in the engine's own thread, if it has one. `again`: the settlements may have been sent before, so
 * those that are older than the last pruning are not booked but returned as unsure. Throws StoreUnavailable.
 */
export async function settle(driver: Driver, batch: Batch, again: boolean): Promise<Settled> {
  if (batch.length === 0) return { applied: 0, repeated: [], clashing: [], unsure: [] }
  return driver.beside === null
    ? book(driver, batch, again)
    : driver.beside<Settled>('settle', new URL(import.meta.url), [batch, again])
}
