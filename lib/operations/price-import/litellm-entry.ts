/** One model of LiteLLM's list while it is read: what it offers so far, and the problems and notes of its fields. */
import { type Exact, exact } from './exact.ts'
import { newOffer, type Offer, type Problems } from './offer.ts'

const LONGEST_NOTE = 100

export class Entry {
  readonly fields: Record<string, unknown>
  readonly offer: Offer
  readonly #problems: Problems

  constructor(model: string, fields: Record<string, unknown>, problems: Problems) {
    this.fields = fields
    this.offer = newOffer(model, ` ${model}`)
    this.#problems = problems
  }

  /** The number that stands in a field; null after a problem was reported. */
  amount(field: string, value: unknown): Exact | null {
    const amount = exact(value)
    if (amount === null) this.#problems.add(`${this.offer.where}.${field}`, 'expected a number, 0 or more')
    return amount
  }

  /** Remembers a field for which we have no place, unless it says that something costs nothing. */
  note(field: string, value: unknown): void {
    const text = JSON.stringify(value) ?? ''
    if (exact(value)?.digits === 0n || text === '{}' || text === '[]') return
    this.offer.notes.push(`${field}: ${text.length > LONGEST_NOTE ? `${text.slice(0, LONGEST_NOTE)}…` : text}`)
  }
}
