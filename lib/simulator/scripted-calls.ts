/** The calls of tools that directives name, each made once. */
import { latest } from '../base/lru.ts'
import type { Directive } from './directive.ts'
import type { Ask } from './speech.ts'

/** A call that a directive names; null = the usual answer. */
export type ScriptedCall = { name: string; args: string } | null

export class ScriptedCalls {
  readonly #made = latest<string, true>(10_000)

  /**
   * The call is made for the first request with this `id` that offers the tool: clients send the prompt again beside the
   * result, and also with requests of their own that offer no tools.
   */
  next(ask: Ask, { call, args = '{}', id = '' }: Directive): ScriptedCall {
    if (call === undefined || !ask.offered.some(tool => tool.name === call) || this.#made.has(id)) return null
    this.#made.set(id, true)
    return { name: call, args }
  }
}
