/**
 * What becomes of notices: each leads to the part that knows its kind. And what is done with a provider's callback: its raw bytes are
 * verified before anybody looks into them, every notice in it is made durable, and only then the provider is told that it was
 * taken. On any doubt it is told the opposite, and sends the callback again.
 */
import type { OrderMethod, ProofSource } from '../terms/pay.ts'
import type { PaymentDisputes, Intake } from './intake.ts'
import type { PayDeps, Taken } from './exceptions.ts'
import {
  type CallbackAnswer,
  type Doubt,
  type Notice,
  NotVerified,
  type CheckoutMethod,
  type RawCallback,
} from './method.ts'
import type { Refunds } from './refunds.ts'

/** Providers wait five seconds for an answer. */
const ANSWER_MS = 4_500
const NOT_VERIFIED = 400
const NOT_DONE = 500

export type Verdict = 'taken' | 'early' | 'failed' | 'slow' | Doubt

export class Notices {
  readonly #deps: PayDeps
  readonly #intake: Intake
  readonly #refunds: Refunds
  readonly #disputes: PaymentDisputes

  constructor(deps: PayDeps, intake: Intake, refunds: Refunds, disputes: PaymentDisputes) {
    this.#deps = deps
    this.#intake = intake
    this.#refunds = refunds
    this.#disputes = disputes
  }

  async take(method: OrderMethod, notice: Notice, source: ProofSource): Promise<Taken> {
    switch (notice.kind) {
      case 'paid':
        return this.#intake.take(method, notice, source)
      case 'refund':
        return this.#refunds.take(method, notice, source)
      case 'dispute':
        return this.#disputes.take(method, notice, source)
      case 'warning':
        return this.#disputes.takeWarning(method, notice)
      case 'ended': {
        const { pay } = this.#deps.store
        const order = await pay.order(notice.orderId)
        if (order === null || order.method !== method) return 'none'
        await pay.endOrder(order.id, 'expired', order.checkAtMs)
        return 'ended'
      }
      case 'none':
        return 'none'
    }
  }

  /** `count`: is told what became of the callback. */
  async callback(
    method: CheckoutMethod,
    callback: RawCallback,
    count: (method: OrderMethod, verdict: Verdict) => void,
  ): Promise<CallbackAnswer> {
    const { log, clock } = this.#deps
    const { name } = method
    try {
      const work = this.#takeAll(method, callback)
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

  async #takeAll(method: CheckoutMethod, callback: RawCallback): Promise<'taken' | 'early'> {
    const { name } = method
    const { pay } = this.#deps.store
    const { eventId, notices } = await method.verify(callback)
    if (eventId !== null && (await pay.seenEvent(name, eventId))) return 'taken'
    for (const notice of notices) if ((await this.take(name, notice, 'callback')) === 'early') return 'early'
    if (eventId !== null) {
      await pay.rememberEvent(name, eventId)
      await pay.setPayMark(name, 'callback', '')
    }
    return 'taken'
  }
}
