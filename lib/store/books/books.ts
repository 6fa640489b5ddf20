/**
 * Purses and leases: how money moves from an account's balance, or a key's cap, to a process and back.
 *
 * A purse row has `credit` and `promised`. `promised` is all money that ever left the purse, whether it has been
 * charged or is still leased, so `credit - promised` is free, and one conditional UPDATE of one row decides whether a
 * process gets a lease. A charge that a lease pays lowers only the lease's row, which no other process writes while its
 * holder lives: settling never waits for a busy account's purse. What a purse has spent is not stored; it is `promised`
 * minus the purse's leases. A charge that no lease pays raises `promised`.
 *
 * To avoid deadlocks, every transaction locks purses before leases, and each in the order of ids. A transaction that
 * must read a row before it writes locks it by an UPDATE that changes nothing, because SQLite has no SELECT … FOR
 * UPDATE.
 */
import type { Table } from '../base/tables.ts'
import { forgetPurses } from './purses.ts'
import { settle } from './settle.ts'
import type { Batch, Settled } from './settlement.ts'
import { randomBytes } from 'node:crypto'
import { CommitUncertain, type Driver, type Transaction } from '../base/driver.ts'
import { type Purse, type PurseId, makePurse } from './purses.ts'
import { integer, binds, money, microOrNull, padded, text } from '../base/text.ts'
import { type Micro, micro } from '../../base/money.ts'
import { invariant } from '../../base/assert.ts'
import { StoreConflict } from '../base/errors.ts'
import { recordChange } from '../base/changes.ts'

export const LEASES: Table = {
  name: 'leases',
  columns: { purse_id: 'code', holder: 'code', amount: 'int', held: 'int', ticket: 'code' },
  key: ['purse_id', 'holder'],
  index: [['holder']],
}

/** What is owed to one purse: by the ticket that the lease's row has, and `otherwise` for any other ticket. */
interface Doubt {
  purse: PurseId
  holder: string
  byTicket: Map<string, number>
  otherwise: number
}

const LOCK_PURSE = 'UPDATE purses SET promised = promised WHERE id = ?'
const READ_LEASE = 'SELECT amount, ticket FROM leases WHERE purse_id = ? AND holder = ?'
const LOWER_PURSE = 'UPDATE purses SET promised = promised - ? WHERE id = ?'
const LOWER_LEASE =
  'UPDATE leases SET amount = amount - ?, ticket = ? WHERE purse_id = ? AND holder = ? AND amount >= ?'

class Doubts {
  readonly #driver: Driver
  readonly #open = new Map<string, Doubt>()
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly #prefix = randomBytes(6).toString('hex')
  #count = 0

  constructor(driver: Driver) {
    this.#driver = driver
  }

  ticket(): string {
    return `${this.#prefix}${(this.#count++).toString(36)}`
  }

  /** Runs `fn` when all earlier calls for this purse and holder have finished. */
  inTurn<T>(purse: PurseId, holder: string, fn: () => Promise<T>): Promise<T> {
    const name = `${purse} ${holder}`
    const result = (this.#turns.get(name) ?? Promise.resolve()).then(fn)
    const turn = result
      .catch(() => {})
      .then(() => {
        if (this.#turns.get(name) === turn) this.#turns.delete(name)
      })
    this.#turns.set(name, turn)
    return result
  }

  #doubt(purse: PurseId, holder: string): Doubt {
    const name = `${purse} ${holder}`
    let doubt = this.#open.get(name)
    if (doubt === undefined) this.#open.set(name, (doubt = { purse, holder, byTicket: new Map(), otherwise: 0 }))
    return doubt
  }

  /** Notes a grant whose commit is uncertain. Nothing else is owed then, because `lease` calls `resolve` first. */
  granted(purse: PurseId, holder: string, ticket: string, amount: number): void {
    this.#doubt(purse, holder).byTicket.set(ticket, amount)
  }

  /** Notes that `amount` is to be given back, whatever became of an uncertain transaction. */
  owe(purse: PurseId, holder: string, amount: number): void {
    if (amount === 0) return
    const doubt = this.#doubt(purse, holder)
    for (const [ticket, owed] of doubt.byTicket) doubt.byTicket.set(ticket, owed + amount)
    doubt.otherwise += amount
  }

  /** Gives back what is owed, but no more than the lease has. Call it inside of `inTurn`. */
  async resolve(purse: PurseId, holder: string): Promise<void> {
    const doubt = this.#open.get(`${purse} ${holder}`)
    if (doubt === undefined) return
    const ticket = this.ticket()
    try {
      await this.#driver.transaction('giveBack', tx => pay(tx, doubt, ticket))
    } catch (error) {
      if (error instanceof CommitUncertain) doubt.byTicket.set(ticket, 0)
      throw error
    }
    this.#open.delete(`${purse} ${holder}`)
  }

  async resolveAll(): Promise<void> {
    for (const { purse, holder } of [...this.#open.values()]) {
      await this.inTurn(purse, holder, () => this.resolve(purse, holder))
    }
  }
}

/** The statements of a give-back. */
async function pay(tx: Transaction, doubt: Doubt, ticket: string): Promise<void> {
  const { purse, holder } = doubt
  await tx.run(LOCK_PURSE, [purse])
  const [row] = await tx.query(READ_LEASE, [purse, holder])
  if (row === undefined) return
  const owed = doubt.byTicket.get(text(row, 'ticket')) ?? doubt.otherwise
  // Settlements lower the lease without locking the purse, so the amount may change between the read and the UPDATE.
  // Then the UPDATE matches no row, and the loop reads again.
  for (let amount = integer(row, 'amount'); ; ) {
    const paid = Math.min(owed, amount)
    if (paid <= 0) return
    if ((await tx.run(LOWER_LEASE, [paid, ticket, purse, holder, paid])).changes === 1) {
      await tx.run(LOWER_PURSE, [paid, purse])
      return
    }
    const [again] = await tx.query(READ_LEASE, [purse, holder])
    if (again === undefined) return
    amount = integer(again, 'amount')
  }
}

/** The result of `store.books.lease`. */
export interface Grant {
  /** What was added to the lease. 0 when less than `need` was free, unless the call was `partial`. */
  granted: Micro
  /** The purse after the grant. */
  purse: Purse
  /** What other processes have leased of this purse, and what of that their open requests held when last reported. */
  elsewhere: { leased: Micro; held: Micro }
}

/** What a grant adds to the need is at most one part in this many of the money that the need leaves free … */
const EXTRA_PART = 8
/** … and nothing is added when less than this many times the need is free. */
const PLENTY = 16

/**
 * How much of `free` is granted to a process that needs `need` and would like `want`. The rules leave money for other
 * processes; see `store.books.lease` for `partial`.
 */
export function slice(free: number, need: number, want: number, partial: boolean): number {
  if (free < need) return partial ? Math.max(0, free) : 0
  if (free < need * PLENTY) return need
  return need + Math.min(want - need, Math.floor((free - need) / EXTRA_PART))
}

/** The least free amount at which `slice` grants all of `want`: then one UPDATE decides, without a read before it. */
const floorOf = (need: number, want: number): number =>
  want === need ? need : Math.min(Math.max(need * PLENTY, need + (want - need) * EXTRA_PART), Number.MAX_SAFE_INTEGER)

const viewOf = (ids: number): string =>
  'SELECT p.id, p.credit, p.promised, COALESCE(SUM(l.amount), 0) AS leased, ' +
  'COALESCE(SUM(CASE WHEN l.holder <> ? THEN l.amount ELSE 0 END), 0) AS elsewhere, ' +
  'COALESCE(SUM(CASE WHEN l.holder <> ? THEN l.held ELSE 0 END), 0) AS held_elsewhere ' +
  `FROM purses p LEFT JOIN leases l ON l.purse_id = p.id WHERE p.id IN (${binds(ids)}) ` +
  'GROUP BY p.id, p.credit, p.promised'

interface View {
  purse: Purse
  elsewhere: Grant['elsewhere']
}

async function views(
  tx: Pick<Transaction, 'query'>,
  ids: readonly PurseId[],
  holder: string,
): Promise<Map<string, View>> {
  const asked = padded(ids)
  const result = new Map<string, View>()
  for (const row of await tx.query(viewOf(asked.length), [holder, holder, ...asked])) {
    const id = text(row, 'id') as PurseId
    const leased = money(row, 'leased')
    const spent = micro(integer(row, 'promised') - leased)
    const purse = { id, credit: microOrNull(row, 'credit'), spent, leased }
    const elsewhere = { leased: money(row, 'elsewhere'), held: money(row, 'held_elsewhere') }
    result.set(id, { purse, elsewhere })
  }
  return result
}

/** The purses with these ids, in the order of the ids; ids without a purse are left out. It takes one statement. */
export async function readPurses(tx: Pick<Transaction, 'query'>, ids: readonly PurseId[]): Promise<Purse[]> {
  if (ids.length === 0) return []
  const found = await views(tx, ids, '')
  return ids.flatMap(id => found.get(id)?.purse ?? [])
}

const PROMISE = 'UPDATE purses SET promised = promised + ? WHERE id = ?'
const PROMISE_IF_FREE = `${PROMISE} AND (credit IS NULL OR credit - promised >= ?)`
const LEASE_MORE = 'UPDATE leases SET amount = amount + ?, ticket = ? WHERE purse_id = ? AND holder = ?'
const LEASE_FIRST = 'INSERT INTO leases (purse_id, holder, amount, held, ticket) VALUES (?, ?, ?, 0, ?)'

/**
 * Adds to a lease, or makes its row. A burial finds a process's leases by its row in `holders`, so a new lease needs
 * that row: raising its counter proves that it exists, and locks it against a burial until this transaction ends.
 */
async function addToLease(
  tx: Transaction,
  purse: PurseId,
  holder: string,
  amount: number,
  ticket: string,
): Promise<void> {
  if ((await tx.run(LEASE_MORE, [amount, ticket, purse, holder])).changes === 1) return
  const { changes } = await tx.run(BEAT, [holder])
  if (changes !== 1) throw new StoreConflict(`holder ${holder} is not registered`)
  await tx.run(LEASE_FIRST, [purse, holder, amount, ticket])
}

/** Raises a holder's counter, unless the holder is being buried. */
export const BEAT = 'UPDATE holders SET beat = beat + 1 WHERE id = ? AND beat >= 0'

export class Books {
  readonly #driver: Driver
  readonly #slice: number
  readonly #doubts: Doubts

  /** `slice`: how many rows of purses a transaction deletes. */
  constructor(driver: Driver, slice: number) {
    this.#driver = driver
    this.#slice = slice
    this.#doubts = new Doubts(driver)
  }

  /** The purses that exist, in the order of `ids`. */
  purses(ids: readonly PurseId[]): Promise<Purse[]> {
    return readPurses({ query: (sql, params) => this.#driver.query('purses', sql, params) }, ids)
  }

  /**
   * Adds to the lease that `holder` has of a purse: at least `need` and at most `want`. When less than `need` is free
   * it grants nothing, or with `partial` all that is free. When little is free it grants exactly `need`, so that no
   * process keeps money idle that another one needs. A purse of a limit is made when it is first asked for. After StoreUnavailable nothing counts as granted: if the commit
   * did happen, the store gives the grant back later. Throws StoreConflict when the purse does not exist, or the holder
   * is not registered (or was buried meanwhile).
   */
  lease(purse: PurseId, holder: string, need: Micro, want: Micro, partial: boolean): Promise<Grant> {
    invariant(need >= 0 && want >= need && need * PLENTY <= Number.MAX_SAFE_INTEGER, `lease of ${need} to ${want}`)
    return this.#doubts.inTurn(purse, holder, async () => {
      await this.#doubts.resolve(purse, holder)
      const ticket = this.#doubts.ticket()
      let granted = 0
      try {
        return await this.#driver.transaction('lease', async tx => {
          const grant = await this.#lease(tx, purse, holder, need, want, partial, ticket)
          granted = grant.granted
          return grant
        })
      } catch (error) {
        if (error instanceof CommitUncertain && granted > 0) this.#doubts.granted(purse, holder, ticket, granted)
        throw error
      }
    })
  }

  async #lease(
    tx: Transaction,
    purse: PurseId,
    holder: string,
    need: number,
    want: number,
    partial: boolean,
    ticket: string,
  ): Promise<Grant> {
    const rich = await tx.run(PROMISE_IF_FREE, [want, purse, floorOf(need, want)])
    if (rich.changes === 1) {
      if (want > 0) await addToLease(tx, purse, holder, want, ticket)
      return grantOf(await view(tx, purse, holder), want)
    }
    const { changes } = await tx.run(LOCK_PURSE, [purse])
    if (changes === 0) await makePurse(tx, this.#driver.dialect, purse)
    const { credit, spent, leased } = (await view(tx, purse, holder)).purse
    const free = credit === null ? Number.MAX_SAFE_INTEGER : credit - spent - leased
    const granted = slice(free, need, want, partial)
    if (granted > 0) {
      await tx.run(PROMISE, [granted, purse])
      await addToLease(tx, purse, holder, granted, ticket)
    }
    return grantOf(await view(tx, purse, holder), granted)
  }

  /** Lowers a lease; after StoreUnavailable the store completes it with the next `lease`, `giveBack` or `beat`. */
  giveBack(purse: PurseId, holder: string, amount: Micro): Promise<void> {
    invariant(amount >= 0, `giving back ${amount}`)
    return this.#doubts.inTurn(purse, holder, async () => {
      this.#doubts.owe(purse, holder, amount)
      await this.#doubts.resolve(purse, holder)
    })
  }

  /** Completes every give-back, and returns every grant, whose commit was left uncertain by a lost connection. */
  resolveDoubts(): Promise<void> {
    return this.#doubts.resolveAll()
  }

  /** Asks every process (by a change) to give back what it has leased of this purse and does not need. */
  recall(purse: PurseId): Promise<void> {
    return this.#driver.transaction('recall', tx => recordChange(tx, 'recall', purse))
  }

  /**
   * Writes a batch of settlements in one transaction, idempotently by request id. `again`: some of them may have been
   * sent before. When the row that would show this may have been pruned, the settlement is returned as `unsure`.
   */
  settle(batch: Batch, again = false): Promise<Settled> {
    return settle(this.#driver, batch, again)
  }

  /** Deletes some purses of periods that ended before `beforeMs`, and returns how many, for the caller to repeat. */
  forgetPurses(beforeMs: number): Promise<number> {
    return forgetPurses(this.#driver, beforeMs, this.#slice)
  }
}

async function view(tx: Transaction, purse: PurseId, holder: string): Promise<View> {
  const found = (await views(tx, [purse], holder)).get(purse)
  if (found === undefined) throw new StoreConflict(`there is no purse ${purse}`)
  return found
}

const grantOf = ({ purse, elsewhere }: View, granted: number): Grant => ({
  granted: micro(granted),
  purse,
  elsewhere,
})
