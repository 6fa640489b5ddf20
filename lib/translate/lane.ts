/**
 * The lanes of one exchange: its request as it is sent to upstreams that speak another protocol than the client. It is data, like
 * the record of the exchange; `lib/exchange/record/translated-request.ts` makes it. An exchange that only asks upstreams of the client's protocol has none.
 */
import type { Facts } from '../protocols/facts.ts'
import type { Protocol } from '../protocols/table.ts'
import type { Ask, LossWord, Losses } from './ask.ts'
import type { RenamedTools } from './names.ts'
import type { Target } from './protocol.ts'

const NOTHING: Buffer = Buffer.alloc(0)

/** A request as one target gets it. */
export interface Lane {
  via: Protocol
  target: Target
  /** Of the client's request: what its answer depends on. */
  ask: Pick<Ask, 'stream' | 'repeated'>
  renamed: RenamedTools
  losses: Losses
  /** Empty when no attempt needs it any more. */
  body: Buffer
  /** What the body says that the upstream gets. */
  facts: Facts
}

/** Why there is no lane: a member of the client's body cannot be said, or the process has no memory left for another body. */
export type NoLane = { field: string } | 'memory'

export interface Cancellable {
  cancel(): void
}

export class Lanes {
  /** The client's request; null = it was not read, or by another thread. */
  ask: Ask | NoLane | null = null
  /** The memory for reading it has been taken. */
  hasMemory = false
  /** Another thread has to read it. */
  isHeavy: boolean
  /** Another thread is making a lane. */
  making: Cancellable | null = null
  /** No attempt will need a lane any more. */
  dropped = false

  constructor(isHeavy: boolean) {
    this.isHeavy = isHeavy
  }
  readonly made = new Map<Target, Lane | NoLane>()
  /** Why the first candidate that translates cannot be asked; null = all that were looked at can. */
  refused: NoLane | null = null
  /** The losses that a head named which went out before any upstream answered; null = there was no such head. */
  named: ReadonlySet<LossWord> | null = null

  /** No attempt needs the bodies any more. */
  drop(): void {
    this.dropped = true
    this.making?.cancel()
    this.making = null
    this.ask = null
    for (const lane of this.made.values()) if (lane !== 'memory' && 'body' in lane) lane.body = NOTHING
  }
}
