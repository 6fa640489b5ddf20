/**
 * What is done with a provider's callback: its raw bytes are verified before anybody looks into them, every notice in it is
 * made durable, and only then the provider is told that it was taken. On any doubt it is told the opposite, and sends the
 * callback again.
 */
import type { Clock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'
import type { Logger } from '../base/log.ts'
import type { OrderMethod } from '../terms/pay.ts'
import { type CallbackAnswer, type Doubt, NotVerified, type PayMethod, type RawCallback } from './method.ts'
import type { Till } from './till.ts'

/** Providers wait five seconds for an answer. */
const ANSWER_MS = 4_500

export type Verdict = 'taken' | 'early' | 'failed' | 'slow' | Doubt

export interface CallbackDeps {
  store: Store
  clock: Clock
  log: Logger
  till: Till
  count: (method: OrderMethod, verdict: Verdict) => void
}

const NOT_VERIFIED = 400
const NOT_DONE = 500

export async function takeCallback(
  deps: CallbackDeps,
  method: PayMethod,
  callback: RawCallback,
): Promise<CallbackAnswer> {
  const { log, count, clock } = deps
  const { name } = method
  try {
    const work = takeAll(deps, method, callback)
    work.catch(() => {}) // when it is slow, nobody waits for it; the provider asks again
    const verdict = await Promise.race([
      work,
      new Promise<'slow'>(resolve => clock.after(ANSWER_MS, () => resolve('slow'))),
    ])
    count(name, verdict)
    return verdict === 'taken' ? method.accepted : { ...method.refused, status: NOT_DONE }
  } catch (error) {
    const verdict = error instanceof NotVerified ? error.doubt : 'failed'
    count(name, verdict)
    if (verdict === 'failed') log.error({ err: error, method: name }, 'a callback could not be taken')
    return { ...method.refused, status: error instanceof NotVerified ? NOT_VERIFIED : NOT_DONE }
  }
}

async function takeAll(
  { store, till }: CallbackDeps,
  method: PayMethod,
  callback: RawCallback,
): Promise<'taken' | 'early'> {
  const { name } = method
  const { eventId, notices } = await method.verify(callback)
  if (eventId !== null && (await store.pay.seenEvent(name, eventId))) return 'taken'
  for (const notice of notices) if ((await till.take(name, notice, 'callback')) === 'early') return 'early'
  if (eventId !== null) {
    await store.pay.rememberEvent(name, eventId)
    await store.pay.setPayMark(name, 'callback', '')
  }
  return 'taken'
}
