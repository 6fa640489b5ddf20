/**
 * An operator's refund of a part was not sent yet when all of the payment was disputed. The dispute froze what was left beside the
 * refund, a person was told to take the rest, and when Stripe refused the refund because of the dispute, its part was in the
 * balance again: to be spent while the bank decided, and lost when it decided for the payer.
 */
// The bug behind these rows: a dispute beside a part that was not sent.
import t from 'tap'
import { openCard } from './card-support.ts'
import { ACT } from './support.ts'

const HOUR_MS = 3_600_000
const REFUND = 'POST /v1/refunds'

const rows: [name: string, dispute: object, end: string | null, fen: number, state: string][] = [
  ['all is disputed', {}, null, 0, 'credited'],
  ['all is lost', {}, 'lost', 0, 'reversed'],
  ['all is won', {}, 'won', 10_000, 'credited'],
  ['as much as is left is disputed', { amount: 6_000 }, null, 4_000, 'credited'],
  ['more than is left is lost', { amount: 8_000 }, 'lost', 2_000, 'credited'],
]

for (const told of ['before', 'with its end before', 'after'])
  for (const [name, fields, end, fen, state] of rows)
    t.test(`${name}, and it is told ${told} the refund is refused`, async t => {
      const card = await openCard(t)
      const { id, session } = await card.paid()
      card.stripe.fail(REFUND, 'reset')
      await card.desk.refunds.begin(id, '40', 'a part', false, ACT)
      const event = card.stripe.ledger.dispute(session, fields)
      const { id: disputeId, amount } = event.data.object
      const tellEnd = async () => {
        if (end !== null) await card.send(card.stripe.ledger.moveDispute(disputeId, { status: end }))
      }
      if (told !== 'after') t.equal(await card.send(event), amount > 6_000 ? 500 : 200)
      if (told === 'with its end before') await tellEnd()
      for (let i = 0; i < 2; i++) {
        card.clock.advance(HOUR_MS + 60_000)
        await card.round()
      }
      t.equal(await card.send({ ...event, id: `${event.id}again` }), 200)
      if (told !== 'with its end before') {
        t.equal(await card.balance(), 10_000 - amount, 'what is disputed is not in the balance')
        await tellEnd()
      }
      // When the bank has decided for us first, the refund is sent after all.
      const sent = told === 'with its end before' && end === 'won' ? 4_000 : 0
      t.equal(await card.balance(), fen - sent)
      t.equal((await card.order(id)).state, state)
      t.same(await card.exceptions(), end === null ? ['dispute'] : [], 'only the bank’s question needs a person')
      t.match(await card.store.audit(), { ok: true })
    })
