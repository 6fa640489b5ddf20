/**
 * Grants and give-backs whose COMMIT was not answered, so that nobody knows whether they happened.
 *
 * Each grant and each give-back writes a new unique ticket into the lease's row. When the answer to a COMMIT is lost,
 * this process remembers the ticket of that transaction and what it would owe the purse if the transaction did happen.
 * Later it reads the row: if the row has that ticket, the transaction happened, and otherwise it did not.
 *
 * A grant whose commit is uncertain is never spent; if it did happen, it is given back. A give-back whose commit is
 * uncertain is repeated only if it did not happen. What is owed is kept in memory only: when the process dies, its
 * burial gives everything back.
 */
import { randomBytes } from 'node:crypto'
import { CommitUncertain, type Driver, type Statements } from '../driver.ts'
import type { PurseId } from '../types.ts'
import { integer, text } from './text.ts'

/** What is owed to one purse: by the ticket that the lease's row has, and `otherwise` for any other ticket. */
interface Doubt {
  purse: PurseId
  holder: string
  byTicket: Map<string, number>
  otherwise: number
}

const LOCK = 'UPDATE purses SET promised = promised WHERE id = ?'
const READ = 'SELECT amount, ticket FROM leases WHERE purse_id = ? AND holder = ?'
const LOWER_PURSE = 'UPDATE purses SET promised = promised - ? WHERE id = ?'
const LOWER_LEASE =
  'UPDATE leases SET amount = amount - ?, ticket = ? WHERE purse_id = ? AND holder = ? AND amount >= ?'

export class Doubts {
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
async function pay(tx: Statements, doubt: Doubt, ticket: string): Promise<void> {
  const { purse, holder } = doubt
  await tx.run(LOCK, [purse])
  const [row] = await tx.query(READ, [purse, holder])
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
    const [again] = await tx.query(READ, [purse, holder])
    if (again === undefined) return
    amount = integer(again, 'amount')
  }
}
