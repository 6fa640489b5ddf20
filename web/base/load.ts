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
  /** True while the latest answer is one to another question than the page asks now; not while the same one is asked again. */
  stale: Signal<boolean>
  /** When the latest answer came. */
  at: Signal<Date | null>
  again(): void
}

export function load<T>(ask: () => Promise<T>): Loaded<T> {
  const value = signal<T | null>(null)
  const failure = signal<Refused | null>(null)
  const busy = signal(false)
  const stale = signal(false)
  const at = signal<Date | null>(null)
  const times = signal(0)
  let latest = 0
  let asked = -1
  effect(() => {
    const isOther = times.value === asked
    asked = times.value
    const mine = ++latest
    const answer = ask()
    queueMicrotask(() => {
      if (isOther) stale.value = true
      busy.value = mine === latest
    })
    answer
      .then(
        got => {
          if (mine !== latest) return
          value.value = got
          failure.value = null
          stale.value = false
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
  return { value, failure, busy, stale, at, again: () => times.value++ }
}

/** A page that nobody looks at asks nothing. */
export function whenSeen(again: () => void): void {
  if (document.hidden) document.addEventListener('visibilitychange', again, { once: true })
  else again()
}

/** Asks again a while after each answer, also after one that says the same and after none, as long as the latest one `mayChange`. */
export function follow<T>({ value, failure, at, again }: Loaded<T>, everyMs: number, mayChange: (value: T) => boolean) {
  effect(() => {
    const latest = value.value
    void at.value
    void failure.value
    if (latest === null || !mayChange(latest)) return
    const timer = setTimeout(() => whenSeen(again), everyMs)
    return () => clearTimeout(timer)
  })
}
