/** One run from one seed: chaos for a number of steps or some time, then quiet, then the books. */
import { step } from './actions.ts'
import { check, type Result, settle } from './books.ts'
import { World } from './world.ts'

export interface Run {
  seed: number
  /** The address of an empty store. */
  url: string
  /** The currency that cards are charged in. */
  currency: string
  /** Whether to go on after so many steps. */
  more: (steps: number) => boolean
  /** Called now and then with what was done so far. */
  tell?: (steps: number, world: World) => void
}

export interface Ended extends Result {
  steps: number
  done: ReadonlyMap<string, number>
}

const TOLD_EVERY = 50

export async function chaos({ seed, url, currency, more, tell }: Run): Promise<Ended> {
  const ends: (() => unknown)[] = []
  try {
    const world = await World.open({ teardown: fn => void ends.unshift(fn) }, seed, url, currency)
    let steps = 0
    for (; more(steps) && world.faults.length === 0; steps++) {
      await step(world)
      if (steps % TOLD_EVERY === 0) tell?.(steps, world)
    }
    await settle(world)
    return { ...(await check(world)), steps, done: world.done }
  } finally {
    for (const end of ends) await end()
  }
}
