/**
 * What becomes of a dispute: an upstream reported more than its request can have caused, and the customer was charged up to the
 * bound. An operator who finds that the report was true charges the rest, or a part of it; else it is waived. Either happens once
 * and is an entry of the account, or nothing; the row of the request stays as it is.
 */
import { z } from 'zod'
import { formatMicro, subtract, ZERO } from '../../base/money.ts'
import type { Dispute } from '../../store/books/disputes.ts'
import { DISPUTE_DAYS } from '../../store/usage/queries.ts'
import type { NewEntry } from '../../store/books/entries.ts'
import { accountPurse } from '../../store/books/purses.ts'
import * as kind from '../../config/scalars.ts'
import type { Actor } from '../../base/people.ts'
import { act, entryActor, inForce, type OperationDeps } from '../deps.ts'
import { debitWithRecall, noteText, tooLittle } from './entries.ts'
import { OperationError } from '../error.ts'
import { cnyAboveZero } from '../fields.ts'
import { read, type Sent } from '../read.ts'

export const disputeForm = z
  .strictObject({
    settle: kind.oneOf('charge', 'waive'),
    amount: cnyAboveZero.optional(),
    reason: noteText,
  })
  .refine(({ reason }) => reason !== '', { path: ['reason'], ...kind.problem({ zh: '须说明原因', en: 'a reason' }) })
  .refine(({ settle, amount }) => settle === 'charge' || amount === undefined, {
    path: ['amount'],
    ...kind.problem({ zh: '放弃收取时不填金额', en: 'no amount where it is waived' }),
  })

export class Disputes {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  /** `created` is false when the same was decided before. */
  async decide(requestId: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { settle, amount: said, reason } = read(disputeForm, sent)
    const there = await store.disputes.byRequest(requestId)
    if (there === null) throw new OperationError('missing', `nothing of a request ${requestId} is disputed`)
    const amount = settle === 'waive' ? ZERO : (said ?? there.amount)
    if (amount > there.amount)
      throw new OperationError(
        'invalid',
        `amount: expected at most the ${formatMicro(there.amount)} CNY that are disputed`,
      )
    const entry: NewEntry | null =
      settle === 'waive'
        ? null
        : {
            kind: 'settlement',
            amount: subtract(ZERO, amount),
            reference: `row:${requestId}`,
            actor: entryActor(actor),
            note: reason,
          }
    const decided = await debitWithRecall(this.#deps, accountPurse(there.accountId), () =>
      store.disputes.decide(there, entry, reason, act(actor, 'disputes.decide')),
    )
    if (decided.outcome === 'short') throw tooLittle(decided)
    const now = (await store.disputes.byRequest(requestId)) as Dispute
    if (decided.outcome === 'conflict') throw new OperationError('conflict', whyNot(now))
    await inForce(this.#deps)
    return { created: decided.outcome === 'created', row: { request_id: requestId, ...shownDispute(now) } }
  }
}

const whyNot = ({ state, charged }: Dispute): string =>
  state === 'charged'
    ? `${formatMicro(charged)} CNY of it were charged already`
    : `it was waived, by somebody or because nobody decided within ${DISPUTE_DAYS} days`

export const shownDispute = ({ amount, state, charged }: Dispute) => ({
  disputed: formatMicro(amount),
  state,
  charged: formatMicro(charged),
})
