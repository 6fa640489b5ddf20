/**
 * A store whose process may die between any two of its calls. `before`: the call never reaches the engine. `after`: the
 * engine has done it, and nobody is told. A dead process does nothing more, so every later call fails.
 */
import { type Store, StoreUnavailable } from '../../../lib/store/store.ts'

export interface Mortal {
  store: Store
  /** It dies at the call after so many. */
  arm(calls: number, when: 'before' | 'after'): void
  isDead(): boolean
}

/** `now`: what the store says the time is, because the run has a time of its own. */
export function mortal(real: Store, now: () => number): Mortal {
  let left = Number.POSITIVE_INFINITY
  let point: 'before' | 'after' = 'before'
  let dead = false
  const fail = (): never => {
    throw new StoreUnavailable('the process is dead')
  }
  const call = async (work: () => unknown): Promise<unknown> => {
    if (dead) fail()
    const last = --left < 0
    if (last) {
      dead = true
      if (point === 'before') fail()
    }
    const result = await work()
    return dead ? fail() : result
  }
  /** `under`: what stands in the place of a member. */
  const wrap = <T extends object>(target: T, under: Record<string, unknown>): T =>
    new Proxy(target, {
      get(_, name) {
        if (typeof name === 'string' && name in under) return under[name]
        const member = Reflect.get(target, name, target) as unknown
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => call(() => Reflect.apply(member, target, args))
      },
    })
  const parts = { pay: wrap(real.pay, {}), chain: wrap(real.chain, {}) }
  return {
    store: wrap(real, { ...parts, now: async () => now() }),
    arm(calls, when) {
      left = calls
      point = when
    },
    isDead: () => dead,
  }
}
