/**
 * What every operation is given, and for whom it acts. The serving processes hold charges in memory that the store does not
 * have yet, so an operation that shows money awaits `fleet.settled()` before it reads the store. They also hold rows in
 * memory, so an operation that changes rows awaits `inForce` after it has written them.
 */
import type { Clock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import type { DeadLetters } from '../ledger/dead-letters.ts'
import type { Store } from '../store/store.ts'
import type { PurseId } from '../store/books/purses.ts'
import type { ChannelState } from '../terms/records.ts'
import type { Logger } from '../base/log.ts'
import type { Act, Actor } from '../base/people.ts'

/** What an operation asks of, and tells, the serving processes of this gateway. */
export interface ServingProcesses {
  /** Money set aside for open requests, per purse. */
  held(): Promise<Map<PurseId, Micro>>
  /** The names under which the serving processes hold leases in the store. */
  holders(): Promise<string[]>
  /** The breaker states, by channel. A channel that is not in the map has a closed breaker. */
  channelStates(): Promise<Map<string, ChannelState>>
  /** Resolves when every serving process works with what was just written to the store. */
  changed(): Promise<void>
  /** Resolves when the charges made so far are in the store, or after a moment when the store does not take them. */
  settled(): Promise<void>
}

export interface OperationDeps {
  store: Store
  clock: Clock
  log: Logger
  fleet: ServingProcesses
  /** Counts the charges on this machine that could not be booked and wait for a person to decide. */
  setAside: () => DeadLetters
}

/**
 * The store's time, ms since 1970: rows have theirs of it, and a machine's own clock may be hours ahead or behind. A store without a
 * clock of its own has this machine's.
 */
export const storeNow = async ({
  store,
  clock,
}: {
  store: Pick<Store, 'now'>
  clock: Pick<Clock, 'now'>
}): Promise<number> => (await store.now()) ?? clock.now()

/**
 * Resolves when the serving processes work with what was written, so that the caller's next request finds it in force.
 * When telling them fails, the operation has succeeded all the same: the change is in the store, and they will find it
 * there.
 */
export async function inForce({ fleet, log }: { fleet: Pick<ServingProcesses, 'changed'>; log: Logger }) {
  await fleet.changed().catch(error => log.warn({ err: error }, 'a change is in the store, but not in force yet'))
}

export const act = (actor: Actor, operation: string): Act => ({ actor, operation })

/** The words by which statements have always named the admin token and the catalogue file. */
const NAMES: Partial<Record<Actor['kind'], string>> = { token: 'admin', file: 'catalogue' }

export const entryActor = ({ kind, name }: Actor): string => NAMES[kind] ?? name
