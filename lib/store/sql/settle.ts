/**
 * Writes settlements into the books, exactly once each.
 *
 * The fast path is one transaction with four statements (a fifth one where something is disputed): an INSERT of the usage rows, whose request ids are unique, so
 * that a repeated settlement is rejected; an UPDATE that lowers the holder's leases by the charges; and upserts of the
 * sums of usage and of the charges by hour of booking. One more raises `promised` of the purses for charges that no lease
 * pays, and where the engine has a clock of its own, another one reads it first.
 *
 * The fast path rolls back when a usage row exists already, or when a lease has less than the settlements say. Then the
 * slow path runs (`settleClosely`): it leaves out what is in the books already, locks purses and leases before it reads
 * them, and takes what the leases cannot pay from the purses.
 */
import { invariant } from '../../base/assert.ts'
import type { UsageRow } from '../../terms/records.ts'
import { type Dialect, type Driver, DuplicateKey, type Statements } from '../driver.ts'
import { type Settled, type Settlement, StoreUnavailable } from '../types.ts'
import { insertDisputes } from './disputes.ts'
import { bookingTime, raiseChargedHours } from './charged-hours.ts'
import { lockPurses, lowerLeases, payable, raisePurses, sum } from './settle-purses.ts'
import { distinct, type Known, present, unknown, unsureOf } from './settled-before.ts'
import { raiseSums, sumsOf } from './sums.ts'
import { insertBooked } from './usage-rows.ts'

/** How often the slow path is tried, which another process that applies the same journal may disturb. */
const CLOSE_TRIES = 5

const rowsOf = (batch: readonly Settlement[]): UsageRow[] => batch.map(({ row }) => row)

async function raise(tx: Statements, dialect: Dialect, rows: readonly UsageRow[], bookedAtMs: number): Promise<void> {
  await raiseSums(tx, dialect, sumsOf(rows))
  await raiseChargedHours(tx, dialect, rows, bookedAtMs)
}

class LeaseTooSmall extends Error {}

/** One of the two paths: writes a batch, and returns the settlements whose request ids were in the books already. */
type Apply = (tx: Statements, dialect: Dialect, batch: readonly Settlement[]) => Promise<Known>

/** The fast path. Throws DuplicateKey or LeaseTooSmall where the slow path is needed. */
async function settleAll(tx: Statements, dialect: Dialect, batch: readonly Settlement[]): Promise<Known> {
  const { unleased, leased } = sum(batch)
  const bookedAtMs = await bookingTime(tx, dialect)
  const rows = rowsOf(batch)
  await insertBooked(tx, rows, () => bookedAtMs)
  await insertDisputes(tx, rows)
  if (unleased.size > 0) await raisePurses(tx, unleased)
  for (const [holder, amounts] of leased) {
    if (!(await lowerLeases(tx, holder, amounts))) throw new LeaseTooSmall()
  }
  await raise(tx, dialect, rows, bookedAtMs)
  return { repeated: [], clashing: [] }
}

/** The slow path. */
async function settleClosely(tx: Statements, dialect: Dialect, batch: readonly Settlement[]): Promise<Known> {
  const known: Known = { repeated: [], clashing: [] }
  const fresh = unknown(batch, await present(tx, batch), known)
  if (fresh.length === 0) return known
  const bookedAtMs = await bookingTime(tx, dialect)
  const rows = rowsOf(fresh)
  await insertBooked(tx, rows, () => bookedAtMs)
  await insertDisputes(tx, rows)
  const { unleased, leased } = sum(fresh)
  await lockPurses(tx, [...new Set([...unleased.keys(), ...[...leased.values()].flatMap(map => [...map.keys()])])])
  for (const [holder, asked] of leased) {
    const pays = await payable(tx, holder, asked, unleased)
    invariant(await lowerLeases(tx, holder, pays), `leases of ${holder} changed under their lock`)
  }
  if (unleased.size > 0) await raisePurses(tx, unleased)
  await raise(tx, dialect, rows, bookedAtMs)
  return known
}

export async function settle(driver: Driver, settlements: readonly Settlement[], again: boolean): Promise<Settled> {
  const twice: Known = { repeated: [], clashing: [] }
  const batch = distinct(settlements, twice)
  const attempt = (apply: Apply): Promise<Settled> =>
    driver.transaction('settle', async tx => {
      const unsure = again ? await unsureOf(tx, batch) : []
      const sure = unsure.length === 0 ? batch : batch.filter(settlement => !unsure.includes(settlement))
      const { repeated, clashing } = await apply(tx, driver.dialect, sure)
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
      // Another process applies the same journal now and has inserted a row since `present` was read.
      if (!(error instanceof DuplicateKey)) throw error
    }
  }
  throw new StoreUnavailable('settle: other processes keep inserting the same requests')
}
