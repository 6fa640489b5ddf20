/** A store all of whose calls go through a function, which may hold them up, or make them fail. */
import type { Store } from '../../../lib/store/store.ts'

export type Through = (work: () => unknown, name: string) => Promise<unknown>

/** `own`: what stands in the place of a member. */
export function through(real: Store, call: Through, own: Partial<Store> = {}): Store {
  /** `under`: what stands in the place of a member. */
  const wrap = <T extends object>(target: T, under: Record<string, unknown>): T =>
    new Proxy(target, {
      get(_, name) {
        if (typeof name === 'string' && name in under) return under[name]
        const member = Reflect.get(target, name, target) as unknown
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => call(() => Reflect.apply(member, target, args), String(name))
      },
    })
  return wrap(real, { pay: wrap(real.pay, {}), chain: wrap(real.chain, {}), ...own })
}

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
