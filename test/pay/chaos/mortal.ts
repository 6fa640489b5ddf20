/**
 * A store whose process may die between any two of its calls. `before`: the call never reaches the engine. `after`: the
 * engine has done it, and nobody is told. A dead process does nothing more, so every later call fails.
 */
import type { Store } from '../../../lib/store/store.ts'
import { StoreUnavailable } from '../../../lib/store/base/errors.ts'
import { through } from './through.ts'

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
  return {
    store: through(real, call, { now: async () => now() }),
    arm(calls, when) {
      left = calls
      point = when
    },
    isDead: () => dead,
  }
}
