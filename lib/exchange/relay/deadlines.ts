/** The time-outs of everything that waits in a relay. The sweeper asks for them. All times are monotonic ms. */
import type { Exchange } from '../record/exchange.ts'
import { wantsEvents } from '../record/request.ts'
import type { Machine } from './machine.ts'
import type { Telling } from './telling.ts'

/** What of a relay is waiting, and what is to be done when it has waited for too long. */
export interface Waiting {
  readonly machine: Machine
  /** The client takes nothing, since then; 0 = it does. */
  readonly slowSinceMs: number
  /** Reading from the upstream is held up. */
  readonly held: boolean
  /** The client was away for as long as its upstream may be read on. */
  readOnIsOver(): void
  /** The client is told what a CDN would tell it, and the upstream is read on as after a client that left. */
  giveUpOnMain(): void
  slowClient(): void
  keepAlive(nowMs: number): void
}

export function checkDeadlines(relay: Waiting, nowMs: number): void {
  const { x, state, answer, attempts, telling, books } = relay.machine
  const { timeouts } = x.world.config
  if (telling.gone) {
    if (nowMs > books.readOnUntilMs) relay.readOnIsOver()
    else books.freePlaceEarly()
  } else if (x.ended) {
    // it takes no more of what is left for it
    if (nowMs - answer.lastByteMs > timeouts.slowClientMs) relay.slowClient()
  } else if (state === 'ending') {
    return // its connection was cut, and says so in a moment
  } else if (x.status === 0 && x.listener === 'main' && timeouts.mainMs > 0 && nowMs - x.startedMs >= timeouts.mainMs) {
    relay.giveUpOnMain()
  } else if (state === 'asking' || state === 'judging') {
    if (startsEarly(x, telling, nowMs)) telling.startEarly()
    else telling.keepEarly(nowMs, x.world.config.keepalive.mainMs)
    if (answer.firstByteMs < 0) attempts.check(nowMs)
    else if (!answer.isDone && nowMs - answer.lastByteMs > timeouts.idleMs) attempts.timeOut() // a document that is to be translated
  } else if (relay.slowSinceMs > 0) {
    if (nowMs - relay.slowSinceMs > timeouts.slowClientMs) relay.slowClient()
  } else if (!relay.held && nowMs - answer.lastByteMs > timeouts.idleMs) attempts.timeOut()
  else relay.keepAlive(nowMs)
}

function startsEarly(x: Exchange, { early }: Telling, nowMs: number): boolean {
  const { earlyMs } = x.world.config.keepalive
  return earlyMs > 0 && !early && x.listener === 'main' && wantsEvents(x) && nowMs - x.startedMs >= earlyMs
}
