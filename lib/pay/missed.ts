/**
 * Callbacks that got lost, at providers that keep a list of their events: the list is read every few minutes, from an hour
 * before where it was read last. Events that have been dealt with are passed over.
 */
import { type Store, StoreUnavailable } from '../store/store.ts'
import type { Logger } from '../base/log.ts'
import type { OrderMethod } from '../terms/pay.ts'
import { type MissedEvent, type PayMethod, ProviderAway, ProviderRefuses } from './method.ts'
import type { Till } from './till.ts'

const MINUTE_MS = 60_000
const EVERY_MS = 5 * MINUTE_MS
const OVERLAP_MS = 60 * MINUTE_MS
/** A callback gets this long to come by itself. */
const PATIENCE_MS = 2 * MINUTE_MS
/** Events of a reading that the provider does not explain now, after which the rest of the list waits for the next one. */
const MOST_AWAY = 3
/** After an outage the list is read in parts. */
const MOST_MS = 24 * 60 * MINUTE_MS

export interface MissedDeps {
  store: Store
  log: Logger
  till: Till
  methods: ReadonlyMap<OrderMethod, PayMethod>
  stopped: () => boolean
}

export async function takeMissed(deps: MissedDeps, nowMs: number): Promise<void> {
  const { store, methods, log } = deps
  const listing = [...methods.values()].filter(method => method.missed !== undefined)
  if (listing.length === 0) return
  const marks = await store.pay.payMarks()
  for (const method of listing) {
    const { name } = method
    const mark = marks.find(found => found.method === name && found.what === 'events')
    const fromMs = mark === undefined ? nowMs - PATIENCE_MS : Number(mark.value)
    const untilMs = Math.min(nowMs - PATIENCE_MS, fromMs + MOST_MS)
    if (mark !== undefined && untilMs - fromMs < EVERY_MS) continue
    // One gateway reads the list at a time, and after a failure it rests.
    if (!(await store.pay.takePayMark(name, 'events_taken', nowMs, MINUTE_MS))) continue
    // The list may not be had for days, as where a permission is missing, and the time since then has to be made up for.
    if (mark === undefined) await store.pay.setPayMark(name, 'events', String(fromMs))
    try {
      if (await takeEvents(deps, method, fromMs - OVERLAP_MS, untilMs))
        await store.pay.setPayMark(name, 'events', String(untilMs))
    } catch (error) {
      if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
      log.warn({ method: name, reason: error.message }, 'the events of a provider cannot be read')
    }
  }
}

/**
 * False when it was stopped before the end, or the list has to be read again. A notice that comes too early is taken again by the
 * overlap, or by the bill.
 */
async function takeEvents(deps: MissedDeps, method: PayMethod, fromMs: number, untilMs: number): Promise<boolean> {
  const { store, stopped } = deps
  let away = 0
  for await (const event of method.missed?.(fromMs, untilMs) ?? []) {
    if (stopped()) return false
    if (await store.pay.seenEvent(method.name, event.eventId)) continue
    try {
      if (await takeEvent(deps, method, event)) await store.pay.rememberEvent(method.name, event.eventId)
    } catch (error) {
      // One event about which nobody answers does not keep those behind it from being read.
      if (!(error instanceof ProviderAway) || ++away >= MOST_AWAY) throw error
      deps.log.warn(
        { method: method.name, event: event.eventId, reason: error.message },
        'an event cannot be asked about',
      )
    }
  }
  return away === 0
}

/**
 * False when it has to be taken again. An event that the provider cannot explain, or that nobody here expected, does not stand in the
 * way of others; a person is told of it, because the list is soon read on.
 */
async function takeEvent({ till, log }: MissedDeps, { name }: PayMethod, event: MissedEvent): Promise<boolean> {
  try {
    let early = false
    for (const notice of await event.notices()) if ((await till.take(name, notice, 'query')) === 'early') early = true
    return !early
  } catch (error) {
    if (error instanceof ProviderAway || error instanceof StoreUnavailable) throw error
    const { eventId } = event
    const { message } = error as Error
    if (error instanceof ProviderRefuses)
      log.warn({ method: name, event: eventId, reason: message }, 'an event of a provider cannot be taken')
    else log.error({ err: error, method: name, event: eventId }, 'an event of a provider cannot be taken')
    const detail = `an event of the provider cannot be read, look at it there: ${message}`
    await till.raise({ method: name, kind: 'fraud_warning', reference: eventId, detail })
    return false
  }
}
