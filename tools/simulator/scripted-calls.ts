/** The calls of tools that directives name, each made once, or `times` times. */
import { latest } from '../../lib/base/lru.ts'
import type { Directive } from './directive.ts'
import type { Ask } from './speech.ts'

/** A call that a directive names; null = the usual answer. */
export type ScriptedCall = { name: string; args: string } | null

export class ScriptedCalls {
  readonly #made = latest<string, number>(10_000)

  /**
   * The call is made for the first requests with this `id` that offer the tool: clients send the prompt again beside the
   * result, and also with requests of their own that offer no tools.
   */
  next(ask: Ask, { call, args = '{}', id = '', times = 1 }: Directive): ScriptedCall {
    const made = this.#made.get(id) ?? 0
    if (call === undefined || !ask.offered.some(tool => tool.name === call) || made >= times) return null
    this.#made.set(id, made + 1)
    return { name: call, args }
  }
}
