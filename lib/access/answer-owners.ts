/**
 * Remembers which account got an answer and which upstream made it, for requests that continue an earlier answer by its
 * id. All customers share our account at the upstream, so the upstream would continue anybody's conversation for
 * anybody. The gateway therefore accepts an id only from the account that got the answer here, and asks only the
 * upstream that made it.
 *
 * Answers of this process are in memory before their client has read their end. Answers of other processes reach the
 * store within a second, so an id that is not there is looked up again for a second.
 */
import type { LRUCache } from 'lru-cache'
import { type Clock, pause } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import type { StoreHealth } from '../store/health.ts'
import type { Store } from '../store/store.ts'
import type { AnswerMaker } from '../store/usage/queries.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import { Turns } from './turns.ts'

const MOST_REMEMBERED = 50_000
const MOST_READING = 16
/** When this many look-ups wait, the store is in trouble, and more look-ups would make it worse: they are refused. */
const MOST_WAITING = 1_000
/** Pauses between the look-ups of an id that is not in the store, and for how long it is looked up again. */
const PAUSES_MS = [50, 150, 300, 500]
const LOOKED_UP_MS = 1_000
/** No upstream has longer ids. */
const LONGEST_ID = 1024

export class Answers {
  readonly #store: { usage: Pick<Store['usage'], 'answerMaker'> }
  readonly #clock: Clock
  readonly #health: StoreHealth
  readonly #makers: LRUCache<string, AnswerMaker>
  readonly #turns = new Turns(MOST_READING, MOST_WAITING)

  constructor({
    store,
    clock,
    health,
  }: { store: { usage: Pick<Store['usage'], 'answerMaker'> }; clock: Clock; health: StoreHealth }) {
    this.#store = store
    this.#clock = clock
    this.#health = health
    this.#makers = latest(MOST_REMEMBERED)
  }

  /** Keeps an answer of this process in memory, because the store does not have it yet. */
  remember(accountId: number, answerId: string, maker: AnswerMaker): void {
    if (answerId.length <= LONGEST_ID) this.#makers.set(keyOf(accountId, answerId), maker)
  }

  /** null = the account got no such answer. Rejects with StoreUnavailable when the store does not answer. */
  find(accountId: number, answerId: string): AnswerMaker | null | Promise<AnswerMaker | null> {
    if (answerId === '' || answerId.length > LONGEST_ID) return null
    const known = this.#makers.get(keyOf(accountId, answerId))
    if (known !== undefined) return known
    if (this.#turns.full) return Promise.reject(new StoreUnavailable('too many earlier answers are being looked up'))
    return this.#lookUp(accountId, answerId)
  }

  async #lookUp(accountId: number, answerId: string): Promise<AnswerMaker | null> {
    const untilMs = this.#clock.monotonic() + LOOKED_UP_MS
    const ask = () => this.#health.ask(() => this.#store.usage.answerMaker(accountId, answerId))
    for (const pauseMs of [0, ...PAUSES_MS]) {
      if (pauseMs > 0) {
        const leftMs = untilMs - this.#clock.monotonic()
        if (leftMs <= 0) break
        await pause(this.#clock, Math.min(pauseMs, leftMs))
      }
      const maker = await this.#health.within(this.#turns.take(ask))
      if (maker === null) continue
      this.remember(accountId, answerId, maker)
      return maker
    }
    return null
  }
}

const keyOf = (accountId: number, answerId: string): string => `${accountId} ${answerId}`
