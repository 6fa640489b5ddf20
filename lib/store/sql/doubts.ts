/**
 * What a process must still give back to a purse, when it cannot know exactly how much.
 *
 * When the answer to a COMMIT is lost, a grant happened or it did not. Every change of a lease row by its holder leaves
 * a ticket there, so the row itself tells later: what is owed is a function of the ticket that the row shows. A grant
 * in doubt is never used; once the row shows that it happened, it goes back. Giving back works the same way, so it is
 * never done twice and never forgotten while the process lives; after that the burial of the holder returns everything.
 */
import { randomBytes } from 'node:crypto'
import { CommitUncertain, type Driver, type Statements } from '../driver.ts'
import type { PurseId } from '../store.ts'
import { integer, text } from './text.ts'

/** Owed, by the ticket that the row shows; any other ticket: `otherwise`. */
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

  /** One at a time for each purse and holder. */
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

  /** A grant whose commit is uncertain. All earlier doubts were resolved before it began. */
  granted(purse: PurseId, holder: string, ticket: string, amount: number): void {
    this.#doubt(purse, holder).byTicket.set(ticket, amount)
  }

  owe(purse: PurseId, holder: string, amount: number): void {
    if (amount === 0) return
    const doubt = this.#doubt(purse, holder)
    for (const [ticket, owed] of doubt.byTicket) doubt.byTicket.set(ticket, owed + amount)
    doubt.otherwise += amount
  }

  /** Gives back what is owed, as far as the lease has it. Call in turn. */
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

async function pay(tx: Statements, doubt: Doubt, ticket: string): Promise<void> {
  const { purse, holder } = doubt
  await tx.run(LOCK, [purse])
  const [row] = await tx.query(READ, [purse, holder])
  if (row === undefined) return
  const owed = doubt.byTicket.get(text(row, 'ticket')) ?? doubt.otherwise
  // Settlements lower the lease without the purse's lock, so the row is asked again as it is written.
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
