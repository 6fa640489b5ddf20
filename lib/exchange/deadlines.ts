/** Everything that waits in a relay has its time-out here, asked for by the sweeper. All times are monotonic ms. */
import type { Attempts } from './attempts.ts'
import type { ClientSide } from './client.ts'
import type { Exchange } from './exchange.ts'
import { wantsEvents } from './request.ts'

/** What of a relay is waiting, and since when. */
export interface Waiting {
  readonly attempts: Attempts
  readonly client: ClientSide
  /** 0 = the client is there. */
  readonly goneMs: number
  /** The upstream is read on until then after its client has left. */
  readonly readOnUntilMs: number
  /** -1 = none yet. */
  readonly firstByteMs: number
  /** Of the upstream, or when we last held it up. */
  readonly lastByteMs: number
  /** The client takes nothing, since then; 0 = it does. */
  readonly slowSinceMs: number
  /** Reading from the upstream is held up. */
  readonly held: boolean
  /** The client was away for as long as its upstream may be read on. */
  stopDraining(): void
  /** The client is told what a CDN would tell it, and the upstream is read on as after a client that left. */
  giveUpOnMain(): void
  slowClient(): void
  keepAlive(nowMs: number): void
}

export function checkDeadlines(x: Exchange, relay: Waiting, nowMs: number): void {
  const { timeouts } = x.world.config
  if (relay.goneMs > 0) {
    if (nowMs > relay.readOnUntilMs) relay.stopDraining()
  } else if (x.ended) {
    // it takes no more of what is left for it
    if (nowMs - relay.lastByteMs > timeouts.slowClientMs) relay.slowClient()
  } else if (x.status === 0 && x.listener === 'main' && timeouts.mainMs > 0 && nowMs - x.startedMs >= timeouts.mainMs) {
    relay.giveUpOnMain()
  } else if (relay.firstByteMs < 0) {
    if (startsEarly(x, relay, nowMs)) relay.client.startEarly()
    relay.attempts.check(nowMs)
  } else if (relay.slowSinceMs > 0) {
    if (nowMs - relay.slowSinceMs > timeouts.slowClientMs) relay.slowClient()
  } else if (!relay.held && nowMs - relay.lastByteMs > timeouts.idleMs) relay.attempts.timeOut()
  else relay.keepAlive(nowMs)
}

function startsEarly(x: Exchange, { client }: Waiting, nowMs: number): boolean {
  const { earlyMs } = x.world.config.keepalive
  return earlyMs > 0 && !client.early && x.listener === 'main' && wantsEvents(x) && nowMs - x.startedMs >= earlyMs
}
