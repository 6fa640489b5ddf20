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
import { invariant } from '../../base/assert.ts'
import { type Micro, micro } from '../../base/money.ts'
import { CommitUncertain, type Driver, type Statements } from '../driver.ts'
import { type Grant, type Purse, type PurseId, StoreConflict } from '../types.ts'
import { BEAT } from './burial.ts'
import { recordChange } from './changes.ts'
import { Doubts } from './doubts.ts'
import { makePurse } from './limit-purses.ts'
import { integer, marks, money, moneyOrNull, padded, text } from './text.ts'

/** What a grant adds to the need is at most one part in this many of the money that the need leaves free … */
const EXTRA_PART = 8
/** … and nothing is added when less than this many times the need is free. */
const PLENTY = 16

/**
 * How much of `free` is granted to a process that needs `need` and would like `want`. The rules leave money for other
 * processes; see `Store.lease` for `partial`.
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
  `FROM purses p LEFT JOIN leases l ON l.purse_id = p.id WHERE p.id IN (${marks(ids)}) ` +
  'GROUP BY p.id, p.credit, p.promised'

interface View {
  purse: Purse
  elsewhere: Grant['elsewhere']
}

async function views(
  tx: Pick<Statements, 'query'>,
  ids: readonly PurseId[],
  holder: string,
): Promise<Map<string, View>> {
  const asked = padded(ids)
  const result = new Map<string, View>()
  for (const row of await tx.query(viewOf(asked.length), [holder, holder, ...asked])) {
    const id = text(row, 'id') as PurseId
    const leased = money(row, 'leased')
    const spent = micro(integer(row, 'promised') - leased)
    const purse = { id, credit: moneyOrNull(row, 'credit'), spent, leased }
    const elsewhere = { leased: money(row, 'elsewhere'), held: money(row, 'held_elsewhere') }
    result.set(id, { purse, elsewhere })
  }
  return result
}

/** The purses with these ids, in the order of the ids; ids without a purse are left out. It takes one statement. */
export async function readPurses(tx: Pick<Statements, 'query'>, ids: readonly PurseId[]): Promise<Purse[]> {
  if (ids.length === 0) return []
  const found = await views(tx, ids, '')
  return ids.flatMap(id => found.get(id)?.purse ?? [])
}

const LOCK_PURSE = 'UPDATE purses SET promised = promised WHERE id = ?'
const PROMISE = 'UPDATE purses SET promised = promised + ? WHERE id = ?'
const PROMISE_IF_FREE = `${PROMISE} AND (credit IS NULL OR credit - promised >= ?)`
const LEASE_MORE = 'UPDATE leases SET amount = amount + ?, ticket = ? WHERE purse_id = ? AND holder = ?'
const LEASE_FIRST = 'INSERT INTO leases (purse_id, holder, amount, held, ticket) VALUES (?, ?, ?, 0, ?)'

/**
 * Adds to a lease, or makes its row. A burial finds a process's leases by its row in `holders`, so a new lease needs
 * that row: raising its counter proves that it exists, and locks it against a burial until this transaction ends.
 */
async function addToLease(
  tx: Statements,
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

export class Books {
  readonly #driver: Driver
  readonly #doubts: Doubts

  constructor(driver: Driver) {
    this.#driver = driver
    this.#doubts = new Doubts(driver)
  }

  purses(ids: readonly PurseId[]): Promise<Purse[]> {
    return readPurses({ query: (sql, params) => this.#driver.query('purses', sql, params) }, ids)
  }

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
    tx: Statements,
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

  recall(purse: PurseId): Promise<void> {
    return this.#driver.transaction('recall', tx => recordChange(tx, 'recall', purse))
  }
}

async function view(tx: Statements, purse: PurseId, holder: string): Promise<View> {
  const found = (await views(tx, [purse], holder)).get(purse)
  if (found === undefined) throw new StoreConflict(`there is no purse ${purse}`)
  return found
}

const grantOf = ({ purse, elsewhere }: View, granted: number): Grant => ({
  granted: micro(granted),
  purse,
  elsewhere,
})
