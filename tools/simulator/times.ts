import { latest } from '../../lib/base/lru.ts'
import type { Directive } from './directive.ts'

/** Counts how often a named request came, for directives whose faults strike only the first `times` requests. */
export class Times {
  readonly #seen = latest<string, number>(10_000)

  strikes({ id, times }: Directive): boolean {
    if (times === undefined) return true
    const name = id ?? ''
    const seen = (this.#seen.get(name) ?? 0) + 1
    this.#seen.set(name, seen)
    return seen <= times
  }
}
