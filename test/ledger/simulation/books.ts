/**
 * What must be true, kept apart from the ledger: every credit, hold and charge as the clients of the gateways know them.
 * `check` compares them with the database after each step and throws at the first thing that does not add up.
 */

import { micro } from '../../../lib/base/money.ts'
import { endOfName } from '../../../lib/base/periods.ts'
import type { Hold, Ledger } from '../../../lib/ledger/ledger.ts'
import { accountPurse, type PurseId } from '../../../lib/store/books/purses.ts'
import { GRAIN } from '../../../lib/store/usage/sums.ts'
import type { UsageRow } from '../../../lib/terms/usage-row.ts'
import type { Limit, Key } from '../../../lib/terms/records.ts'
import type { Database } from './database.ts'
import { FORCED } from './debits.ts'
import type { Gateway } from './gateway.ts'

/** Six days: the ledger keeps purses for seven, and clocks step. */
const KEPT_MS = 6 * 86_400_000

export class Broken extends Error {
  override name = 'Broken'
}

const must = (condition: boolean, message: () => string): void => {
  if (!condition) throw new Broken(message())
}

export interface OpenHold {
  gateway: Gateway
  hold: Hold
  key: Key
  /** All that its charge counts in. */
  purses: PurseId[]
  /** Those of them in which it has no lease: its key had no cap when it was asked for, and may have got one since. */
  unleased: PurseId[]
}

export interface Charge {
  row: UsageRow
  gateway: Gateway
  /**
   * `kept`: the ledger said that it has it. `waiting`: it has not said so yet. `unknown`: its process died before; it may
   * be in the books or not.
   */
  state: 'kept' | 'waiting' | 'unknown'
  inBooks: boolean
  purses: PurseId[]
  unleased: PurseId[]
}

interface PurseState {
  /** null = no limit. */
  credit: number | null
  /**
   * What may be missing at most: charges above their holds, charges without a lease, holds and charges whose lease was
   * rightly taken away, and leases that were granted before somebody lowered the credit.
   */
  excess: number
  /** What its credit has to be, when it is a purse of a limit. */
  amount: number | null
  /** What it was made with: a budget for ever counts what the account has spent before. */
  before: number
  /** Whether the database has it. */
  there: boolean
}

export class Expected {
  readonly #database: Database
  readonly purses = new Map<PurseId, PurseState>()
  holds: OpenHold[] = []
  readonly charges = new Map<string, Charge>()
  /** Gateways whose leases the store has taken back. */
  readonly #buried = new Set<Gateway>()
  #lastEntry = 0

  readonly #now: () => number
  readonly #limitOf: (id: PurseId) => Limit | null

  /** `limitOf`: the cap or budget to which a purse belongs, as it is set now. */
  constructor(database: Database, now: () => number, limitOf: (id: PurseId) => Limit | null) {
    this.#database = database
    this.#now = now
    this.#limitOf = limitOf
  }

  /** Purses of limits come into being when they are first needed. */
  purse(id: PurseId): PurseState {
    let purse = this.purses.get(id)
    if (purse === undefined)
      this.purses.set(id, (purse = { credit: null, excess: 0, amount: null, before: 0, there: false }))
    return purse
  }

  charged({ gateway, hold, purses, unleased }: OpenHold, row: UsageRow): Charge {
    for (const id of purses) this.purse(id).excess += Math.max(0, row.charge - hold.amount)
    const charge: Charge = { row, gateway, state: 'waiting', inBooks: false, purses: [...purses], unleased }
    this.charges.set(row.requestId, charge)
    return charge
  }

  /** What a gateway had in memory is gone with it. */
  died(gateway: Gateway): void {
    this.holds = this.holds.filter(open => open.gateway !== gateway)
    for (const charge of this.charges.values())
      if (charge.gateway === gateway && charge.state === 'waiting') charge.state = 'unknown'
  }

  check(gateways: readonly Gateway[]): void {
    this.#checkRows()
    this.#checkSums()
    this.noteBuried(gateways, null)
    this.#checkPurses()
  }

  /** The sums of usage are what the rows come to, whatever broke off, or was sent again. Nothing is pruned here. */
  #checkSums(): void {
    const totals = (sql: string) => JSON.stringify(this.#database.read(sql))
    const money = 'COALESCE(SUM(charge), 0) AS charge, COALESCE(SUM(cost), 0) AS cost'
    const ofLog = `COALESCE(SUM(CASE WHEN outcome = 'attempt' THEN 0 ELSE 1 END), 0) AS n, ${money} FROM usage_log`
    const ofSums = `COALESCE(SUM(requests), 0) AS n, ${money} FROM usage_sums WHERE grain =`
    const rows = totals(`SELECT account_id AS id, ${ofLog} GROUP BY 1 ORDER BY 1`)
    const all = totals(`SELECT ${ofLog}`)
    for (const grain of [GRAIN.hour, GRAIN.day, GRAIN.keyDay, GRAIN.accountHour, GRAIN.accountDay]) {
      const sums = totals(`SELECT account_id AS id, ${ofSums} ${grain} GROUP BY 1 ORDER BY 1`)
      must(sums === rows, () => `sums of grain ${grain} are ${sums}, rows come to ${rows}`)
    }
    const ofAll = totals(`SELECT ${ofSums} ${GRAIN.dayOfAll}`)
    must(ofAll === all, () => `sums of all are ${ofAll}, rows come to ${all}`)
  }

  #checkRows(): void {
    for (const row of this.#database.read('SELECT request_id, charge, account_id, key_id FROM usage_log')) {
      const id = String(row['request_id'])
      const charge = this.charges.get(id)
      must(charge !== undefined, () => `${id} is in the books, and nobody made it`)
      const { row: made } = charge as Charge
      const same = made.charge === row['charge'] && made.accountId === row['account_id'] && made.keyId === row['key_id']
      must(same, () => `${id} is in the books as ${JSON.stringify(row)}, made as ${JSON.stringify(made)}`)
      this.#arrived(charge as Charge)
    }
  }

  /** A charge without a lease goes to a purse that may have leased all its credit. */
  #arrived(charge: Charge): void {
    if (charge.inBooks) return
    charge.inBooks = true
    for (const id of charge.unleased) if (this.purse(id).credit !== null) this.purse(id).excess += charge.row.charge
  }

  /**
   * In each transaction that books an entry, before its COMMIT. A chosen debit takes nothing that is leased. A forced one
   * may, and what was leased may still be spent.
   */
  booked(): void {
    const [entry] = this.#database.read('SELECT seq, account_id, amount, note FROM entries ORDER BY seq DESC LIMIT 1')
    if (entry === undefined || entry['seq'] === this.#lastEntry) return
    this.#lastEntry = Number(entry['seq'])
    const debit = -Number(entry['amount'])
    if (debit <= 0) return
    const id = accountPurse(Number(entry['account_id']))
    const [row] = this.#database.read('SELECT credit, promised FROM purses WHERE id = ?', [id])
    const short = Math.max(0, Number(row?.['promised']) - Number(row?.['credit']))
    must(
      entry['note'] === FORCED || short === 0,
      () => `${id}: a chosen debit of ${debit} took ${short} that were leased`,
    )
    this.purse(id).excess += Math.min(debit, short)
  }

  /**
   * Who was silent so long that its leases went back has holds without cover, if it is there: so far may things be short.
   * `outage`: at the moment of a burial, the last time when nobody could be heard; null = at another moment.
   */
  noteBuried(gateways: readonly Gateway[], outage: { goneMs: number; awayMs: number } | null): void {
    const there = new Set(this.#database.read('SELECT id FROM holders WHERE beat >= 0').map(row => String(row['id'])))
    for (const gateway of gateways) {
      const { ledger } = gateway
      if (ledger === null) continue
      if (there.has(ledger.holder)) this.#buried.delete(gateway)
      else if (!this.#buried.has(gateway)) {
        this.#buried.add(gateway)
        this.#uncovered(gateway)
        if (outage === null || gateway.state !== 'up') continue
        const { beatMs } = gateway.driver
        const excusedMs = Math.max(0, outage.awayMs - Math.max(beatMs, outage.goneMs))
        const silentMs = gateway.clock.monotonic() - beatMs - excusedMs
        must(silentMs > 60_000, () => `${gateway.name} was taken for dead after ${silentMs} ms`)
      }
    }
  }

  #uncovered(gateway: Gateway): void {
    for (const { hold, purses } of this.holds.filter(open => open.gateway === gateway))
      for (const id of purses) this.purse(id).excess += hold.amount
    this.#checkRows()
    for (const charge of this.charges.values()) {
      if (charge.gateway !== gateway || charge.inBooks) continue
      must(
        gateway.state !== 'down' || !gateway.journalInReach || charge.state === 'unknown',
        () => `${gateway.name}: its leases went back before its journal was applied`,
      )
      for (const id of charge.purses) this.purse(id).excess += charge.row.charge
    }
  }

  #checkPurses(): void {
    const leased = this.#sums(
      'SELECT purse_id AS id, SUM(amount) AS total, MIN(amount) AS least FROM leases GROUP BY purse_id',
    )
    const paidIn = this.#sums(
      "SELECT 'a' || account_id AS id, SUM(amount) AS total, 0 AS least FROM entries GROUP BY account_id",
    )
    const rows = this.#database.read('SELECT id, credit, promised FROM purses')
    this.#noteForgotten(new Set(rows.map(row => String(row['id']))))
    for (const row of rows) {
      const id = String(row['id']) as PurseId
      const lease = leased.get(id) ?? { total: 0, least: 0 }
      must(lease.least >= 0, () => `${id}: a lease of ${lease.least}`)
      const spent = Number(row['promised']) - lease.total
      const { certain, inBooks } = this.#chargesOf(id)
      const state = this.purse(id)
      if (!state.there && /^b\d+$/.test(id)) {
        state.before = spent - inBooks
        state.excess += Math.max(0, state.before - Number(row['credit'])) // set below what was spent already
      }
      this.#checkCredit(id, row['credit'] as number | null, state)
      state.there = true
      must(spent === inBooks + state.before, () => `${id}: spent ${spent}, its rows say ${inBooks}`)
      if (id.startsWith('a'))
        must(
          row['credit'] === (paidIn.get(id)?.total ?? 0),
          () => `${id}: credit ${row['credit']}, paid in ${paidIn.get(id)?.total}`,
        )
      if (row['credit'] === null) continue
      state.credit = Number(row['credit'])
      must(
        spent <= state.credit + state.excess,
        () => `${id}: spent ${spent} of ${state.credit}, explained ${state.excess}`,
      )
      const held = this.#heldOf(id)
      const explained = state.excess + this.#unleasedOf(id)
      must(
        held + certain + state.before <= state.credit + explained,
        () => `${id}: ${held} held and ${certain} charged of ${state.credit}, explained ${explained}`,
      )
    }
  }

  /** `waiting`: it may hold more for what has no answer yet. */
  checkHolds(gateway: Gateway, waiting: boolean): void {
    const { holdsOpen, heldTotal } = gateway.ledger as Ledger
    const open = this.holds.filter(hold => hold.gateway === gateway)
    const held = open.reduce((sum, { hold }) => sum + hold.amount, 0)
    must(
      holdsOpen === open.length && (waiting ? heldTotal >= held : heldTotal === held),
      () => `${gateway.name} holds ${heldTotal} in ${holdsOpen}; its clients ${held} in ${open.length}`,
    )
  }

  /** Purses of periods that are long over are deleted, and what was charged to them counts no more. */
  #noteForgotten(there: ReadonlySet<string>): void {
    for (const [id, state] of this.purses) {
      if (there.has(id)) continue
      if (state.there) {
        const ended = endOfName(id.split('.')[1] ?? '')
        must(ended < this.#now() - KEPT_MS, () => `${id} is gone, and its period ended only at ${ended}`)
      }
      state.there = false
      state.before = 0
      for (const charge of this.charges.values())
        if (charge.inBooks) charge.purses = charge.purses.filter(purse => purse !== id)
    }
  }

  /** A purse of a limit is made with the amount of the moment, and changed by whoever changes the limit. */
  #checkCredit(id: PurseId, credit: number | null, state: PurseState): void {
    if (id.startsWith('a')) return
    const limit = this.#limitOf(id)
    if (/^k\d+$/.test(id)) state.amount = limit?.every === null ? limit.amount : null
    else if (!state.there) state.amount = limit?.amount ?? null
    must(credit === state.amount, () => `${id}: credit ${credit}, should be ${state.amount}`)
  }

  /** A limit has changed: what was leased under the old amount may still be spent. */
  limitChanged(id: PurseId, atMs: number): void {
    const limit = this.#limitOf(id)
    const period = id.split('.')[1]
    const runs = period === undefined ? limit?.every === null : limit?.every !== null && endOfName(period) > atMs
    if (limit !== null && runs) this.purse(id).amount = limit.amount
    const [row] = this.#database.read('SELECT credit, promised FROM purses WHERE id = ?', [id])
    if (row === undefined || row['credit'] === null) return
    this.#checkRows()
    const state = this.purse(id)
    if (/^b\d+$/.test(id)) {
      const leased = Number(
        this.#database.read('SELECT SUM(amount) AS n FROM leases WHERE purse_id = ?', [id])[0]?.['n'],
      )
      state.before = Number(row['promised']) - leased - this.#chargesOf(id).inBooks
      state.there = true
    }
    state.excess += Math.max(0, Number(row['promised']) - Number(row['credit']))
  }

  #sums(sql: string): Map<string, { total: number; least: number }> {
    return new Map(
      this.#database
        .read(sql)
        .map(row => [String(row['id']), { total: Number(row['total']), least: Number(row['least']) }]),
    )
  }

  /** `certain`: in the books, or promised to get there. */
  #chargesOf(id: PurseId): { certain: number; inBooks: number } {
    let certain = 0
    let inBooks = 0
    for (const { row, state, inBooks: there, purses } of this.charges.values()) {
      if (!purses.includes(id)) continue
      if (there) inBooks += row.charge
      if (there || state !== 'unknown') certain += row.charge
    }
    return { certain, inBooks }
  }

  #heldOf(id: PurseId): number {
    let held = 0
    for (const { hold, purses } of this.holds) if (purses.includes(id)) held += hold.amount
    return held
  }

  /** What is held and charged without a lease, and not in the books yet. */
  #unleasedOf(id: PurseId): number {
    let sum = 0
    for (const { hold, unleased } of this.holds) if (unleased.includes(id)) sum += hold.amount
    for (const { row, inBooks, unleased } of this.charges.values())
      if (!inBooks && unleased.includes(id)) sum += row.charge
    return sum
  }

  /** What is left of an account. */
  balance(id: PurseId): number {
    const { credit, before } = this.purse(id)
    return (credit ?? Number.MAX_SAFE_INTEGER) - before - this.#chargesOf(id).inBooks
  }

  /** From now on a purse may be short only by what it is: a charge above its hold may have taken what was leased already. */
  nothingIsExcused(): void {
    for (const { id, credit, promised } of this.#database.read('SELECT id, credit, promised FROM purses'))
      if (credit !== null) this.purse(id as PurseId).excess = Math.max(0, Number(promised) - Number(credit))
  }

  holders(): number {
    return this.#database.read('SELECT id FROM holders').length
  }

  leases(): string {
    const rows = this.#database.read('SELECT purse_id, holder, amount FROM leases')
    return rows.map(row => Object.values(row).join(' ')).join(', ')
  }

  /** When all is done. */
  checkEnd(): void {
    for (const [id, { inBooks, state }] of this.charges)
      must(inBooks || state === 'unknown', () => `${id}: its charge (${state}) never reached the books`)
    const [left] = this.#database.read('SELECT COUNT(*) AS leases, COALESCE(SUM(amount), 0) AS amount FROM leases')
    must(left?.['leases'] === 0, () => `at the end ${left?.['leases']} leases of ${left?.['amount']} are left`)
    const holders = this.#database.read('SELECT id FROM holders')
    must(holders.length === 0, () => `at the end ${JSON.stringify(holders)} are registered`)
  }
}

export const amountOf = (value: number) => micro(Math.max(0, Math.round(value)))
