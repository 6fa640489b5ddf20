/**
 * What an operation is given. Serving processes hold charges and rows in memory, so an operation that shows money awaits
 * `fleet.settled()` before it reads the store, and one that changes rows awaits `inForce` after it has written them.
 */
import type { Clock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import type { SetAside } from '../ledger/aside.ts'
import type { PurseId, Store } from '../store/store.ts'
import type { ChannelState } from '../terms/channel.ts'
import type { Logger } from '../terms/log.ts'

/** What only the serving processes of this gateway know, and what they are told. */
export interface Running {
  /** Money set aside for open requests, per purse. */
  held(): Promise<Map<PurseId, Micro>>
  /** The names under which they hold leases in the store. */
  holders(): string[]
  /** Channels that are not listed are closed. */
  channelStates(): Promise<Map<string, ChannelState>>
  /** Resolves when every one of them follows what was just written to the store. */
  changed(): Promise<void>
  /** Resolves when the store holds what they have settled so far, or after a moment without it. */
  settled(): Promise<void>
}

export interface OperationDeps {
  store: Store
  clock: Clock
  log: Logger
  fleet: Running
  /** What is not in the books and waits for people, on this machine. */
  setAside: () => SetAside
}

/**
 * Resolves when this gateway's processes work with what was changed, so that the caller hears of it afterwards. Should
 * they not follow at once, they do so soon: it is written, and the caller is told so.
 */
export async function inForce({ fleet, log }: OperationDeps): Promise<void> {
  await fleet.changed().catch(error => log.warn({ err: error }, 'the gateway does not follow the change yet'))
}
