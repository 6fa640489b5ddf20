/** A store all of whose calls go through a function, which may hold them up, or make them fail. */
import type { Store } from '../../../lib/store/store.ts'
import { type Changes, changed, intercepted } from '../../support/store.ts'

export type Through = (work: () => unknown, name: string) => Promise<unknown>

/** `own`: what stands in the place of methods. */
export const through = (real: Store, call: Through, own: Changes = {}): Store =>
  changed(
    intercepted(real, (work, name) => call(work, name)),
    own,
  )

/**
 * The store of a process that is held up before its call after so many, while others do their work, and then goes on with what
 * it knew.
 */
export function heldUp(real: Store, calls: number, meanwhile: () => Promise<unknown>) {
  let left = calls
  const store = through(real, async work => {
    if (left-- === 0) await meanwhile()
    return work()
  })
  return { store, wasHeldUp: () => left < 0 }
}
