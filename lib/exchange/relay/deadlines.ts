/** Everything that waits in a relay has its time-out here, asked for by the sweeper. All times are monotonic ms. */

import type { Exchange } from '../exchange.ts'
import { wantsEvents } from '../request.ts'
import type { Answer } from './answer.ts'
import type { Attempts } from './attempts.ts'
import type { Books } from './books.ts'
import type { Machine } from './machine.ts'
import type { Telling } from './telling.ts'

/** What of a relay is waiting, and what is to be done when it has waited for too long. */
export interface Waiting {
  readonly answer: Answer
  readonly attempts: Attempts
  readonly telling: Telling
  readonly books: Books
  readonly machine: Machine
  /** The client takes nothing, since then; 0 = it does. */
  readonly slowSinceMs: number
  /** Reading from the upstream is held up. */
  readonly held: boolean
  /** The client was away for as long as its upstream may be read on. */
  stopReadingOn(): void
  /** The client is told what a CDN would tell it, and the upstream is read on as after a client that left. */
  giveUpOnMain(): void
  slowClient(): void
  keepAlive(nowMs: number): void
}

export function checkDeadlines(x: Exchange, relay: Waiting, nowMs: number): void {
  const { timeouts } = x.world.config
  const { answer, attempts, telling, books } = relay
  const { state } = relay.machine
  if (telling.gone) {
    if (nowMs > books.readOnUntilMs) relay.stopReadingOn()
  } else if (x.ended) {
    // it takes no more of what is left for it
    if (nowMs - answer.lastByteMs > timeouts.slowClientMs) relay.slowClient()
  } else if (state === 'ending') {
    return // its connection was cut, and says so in a moment
  } else if (x.status === 0 && x.listener === 'main' && timeouts.mainMs > 0 && nowMs - x.startedMs >= timeouts.mainMs) {
    relay.giveUpOnMain()
  } else if (state === 'asking' || state === 'judging') {
    if (startsEarly(x, telling, nowMs)) telling.startEarly()
    attempts.check(nowMs)
  } else if (relay.slowSinceMs > 0) {
    if (nowMs - relay.slowSinceMs > timeouts.slowClientMs) relay.slowClient()
  } else if (!relay.held && nowMs - answer.lastByteMs > timeouts.idleMs) attempts.timeOut()
  else relay.keepAlive(nowMs)
}

function startsEarly(x: Exchange, { early }: Telling, nowMs: number): boolean {
  const { earlyMs } = x.world.config.keepalive
  return earlyMs > 0 && !early && x.listener === 'main' && wantsEvents(x) && nowMs - x.startedMs >= earlyMs
}
