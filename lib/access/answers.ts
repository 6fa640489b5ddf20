/**
 * Which account got an earlier answer, and which upstream made it. All customers share the upstream's account, so the
 * upstream would continue anybody's conversation for anybody: the gateway admits an id only for the account that got it here.
 *
 * The answers of this process are in memory before their client sees the end of them. Those of other processes are in the
 * store, at most a second later; an id that is not found is therefore looked up again until a second has passed.
 */
import type { LRUCache } from 'lru-cache'
import { type Clock, pause } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import { type AnswerMaker, type Store, StoreUnavailable } from '../store/store.ts'
import { Turns } from './turns.ts'

const MOST_REMEMBERED = 50_000
const MOST_READING = 16
/** When more look-ups wait than these, the store is in trouble, and further ones would only add to it. */
const MOST_WAITING = 1_000
/** Between the look-ups of an id that is not there. */
const PAUSES_MS = [50, 150, 300, 500]
/** Longer than the ids of any upstream. */
const LONGEST_ID = 1024

export class Answers {
  readonly #store: Pick<Store, 'answerMaker'>
  readonly #clock: Clock
  readonly #makers: LRUCache<string, AnswerMaker>
  readonly #turns = new Turns(MOST_READING, MOST_WAITING)

  constructor({ store, clock }: { store: Pick<Store, 'answerMaker'>; clock: Clock }) {
    this.#store = store
    this.#clock = clock
    this.#makers = latest(MOST_REMEMBERED)
  }

  /** An answer of this process, which is not in the store yet. */
  remember(accountId: number, answerId: string, maker: AnswerMaker): void {
    if (answerId.length <= LONGEST_ID) this.#makers.set(keyOf(accountId, answerId), maker)
  }

  /** null = the account got no such answer. Rejects with StoreUnavailable when nobody can say. */
  find(accountId: number, answerId: string): AnswerMaker | null | Promise<AnswerMaker | null> {
    if (answerId === '' || answerId.length > LONGEST_ID) return null
    const known = this.#makers.get(keyOf(accountId, answerId))
    if (known !== undefined) return known
    if (this.#turns.full) return Promise.reject(new StoreUnavailable('too many earlier answers are being looked up'))
    return this.#lookUp(accountId, answerId)
  }

  async #lookUp(accountId: number, answerId: string): Promise<AnswerMaker | null> {
    for (const pauseMs of [0, ...PAUSES_MS]) {
      if (pauseMs > 0) await pause(this.#clock, pauseMs)
      const maker = await this.#turns.take(() => this.#store.answerMaker(accountId, answerId))
      if (maker === null) continue
      this.remember(accountId, answerId, maker)
      return maker
    }
    return null
  }
}

const keyOf = (accountId: number, answerId: string): string => `${accountId} ${answerId}`
