/** The primary, as a worker sees it: the console in a worker asks it for what only all workers together know. */
import { type Clock, systemClock } from '../base/clock.ts'
import type { ServingProcesses } from '../operations/deps.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { PrimaryAnswer, PrimaryCalls } from './worker-handle.ts'

/** The primary asks every worker, and gives each of them two seconds. */
const ANSWER_MS = 5_000

export class Primary implements ServingProcesses {
  readonly #ask: (id: number, op: keyof PrimaryCalls) => void
  readonly #clock: Pick<Clock, 'after'>
  readonly #asked = new Map<number, (answer: PrimaryAnswer | null) => void>()
  #next = 0

  /** `ask`: sends a question, which `hear` is given the answer to. */
  constructor(ask: (id: number, op: keyof PrimaryCalls) => void, clock: Pick<Clock, 'after'> = systemClock) {
    this.#ask = ask
    this.#clock = clock
  }

  hear(answer: PrimaryAnswer): void {
    this.#asked.get(answer.id)?.(answer)
  }

  held = async () => new Map(await this.#call('held'))
  holders = () => this.#call('holders')
  channelStates = async () => new Map(await this.#call('states'))

  async changed(): Promise<void> {
    await this.#call('changed')
  }

  async settled(): Promise<void> {
    await this.#call('settled')
  }

  /** A sum that leaves out some workers would be wrong, so the caller is told to try again. */
  #call<K extends keyof PrimaryCalls>(op: K): Promise<PrimaryCalls[K]> {
    const { promise, resolve, reject } = Promise.withResolvers<PrimaryCalls[K]>()
    const id = this.#next++
    const cancel = this.#clock.after(ANSWER_MS, () => this.#asked.get(id)?.(null))
    this.#asked.set(id, answer => {
      cancel()
      this.#asked.delete(id)
      if (answer?.ok) resolve(answer.value as PrimaryCalls[K])
      else reject(new StoreUnavailable('the primary does not answer'))
    })
    this.#ask(id, op)
    return promise
  }
}
