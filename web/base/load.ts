/**
 * Data that a page shows. `load` asks for it, and asks again when a signal that the question reads has changed: a filter in
 * the address, say. An answer that a later question has overtaken is dropped.
 */
import { effect, type Signal, signal } from '@preact/signals'
import type { Refused } from './ask.ts'

export interface Loaded<T> {
  /** The latest answer; null until there is one. */
  value: Signal<T | null>
  failure: Signal<Refused | null>
  /** True while a question is on its way. */
  busy: Signal<boolean>
  /** When the latest answer came. */
  at: Signal<Date | null>
  again(): void
}

export function load<T>(ask: () => Promise<T>): Loaded<T> {
  const value = signal<T | null>(null)
  const failure = signal<Refused | null>(null)
  const busy = signal(false)
  const at = signal<Date | null>(null)
  const times = signal(0)
  let latest = 0
  effect(() => {
    void times.value
    const mine = ++latest
    const answer = ask()
    queueMicrotask(() => (busy.value = mine === latest))
    answer
      .then(
        got => {
          if (mine !== latest) return
          value.value = got
          failure.value = null
          at.value = new Date()
        },
        (error: Refused) => {
          if (mine === latest) failure.value = error
        },
      )
      .finally(() => {
        if (mine === latest) busy.value = false
      })
  })
  return { value, failure, busy, at, again: () => times.value++ }
}
