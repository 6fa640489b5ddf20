/** Card money that goes back: refunds, disputes, warnings; webhooks that got lost; and Stripe's balance as a bill. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { oneOrder } from '../../lib/pay/views.ts'
import type { BillLine } from '../../lib/pay/method.ts'
import { type Card, openCard } from './card-support.ts'
import type { Json } from '../../tools/simulator/pay/stripe-ledger.ts'
import { ACT } from './support.ts'

const MINUTE_MS = 60_000
const REFUND = 'POST /v1/refunds'

/** The webhooks of everything that has happened, oldest first. */
async function sendAll(card: Card): Promise<void> {
  for (const event of card.stripe.ledger.events.splice(0).reverse()) await card.send(event)
}

const refund = (card: Card, id: string, amount: string) => card.desk.refunds.begin(id, amount, 'asked for', false, ACT)

t.test('a refund that is begun here', async t => {
  const rows: [name: string, status: string, fen: number, state: string][] = [
    ['done at once', 'succeeded', 6_000, 'done'],
    ['a bank decides later', 'pending', 6_000, 'frozen'],
    ['it needs the payer', 'requires_action', 6_000, 'frozen'],
    ['it fails', 'failed', 10_000, 'released'],
    ['it is canceled', 'canceled', 10_000, 'released'],
  ]
  for (const [name, status, fen, state] of rows) {
    const card = await openCard(t)
    const { id } = await card.paid()
    card.stripe.ledger.refundStatus = status
    const sent = await refund(card, id, '40')
    t.equal(sent.state, state, name)
    await sendAll(card)
    t.equal(await card.balance(), fen, 'its own webhook books nothing')
    t.match(card.stripe.ledger.get('refund', sent.providerId as string), {
      amount: 4_000,
      metadata: { order: id, refund: sent.id },
    })
    t.same(await card.exceptions(), [])
  }
})

t.test('a refund that is decided later, as the webhook or the question says', async t => {
  for (const told of [true, false])
    for (const [status, fen, state] of [
      ['succeeded', 6_000, 'done'],
      ['failed', 10_000, 'released'],
    ] as const) {
      const card = await openCard(t)
      const { id } = await card.paid()
      card.stripe.ledger.refundStatus = 'pending'
      const sent = await refund(card, id, '40')
      const event = card.stripe.ledger.endRefund(sent.providerId as string, status)
      if (told) t.equal(await card.send(event), 200)
      else {
        card.clock.advance(16_000)
        await card.round()
      }
      t.equal(await card.balance(), fen)
      t.equal((await card.store.pay.refund('card', sent.id))?.state, state)
    }
})

t.test('a refund that was done fails later: the account has its money again', async t => {
  const card = await openCard(t)
  const { id } = await card.paid()
  const sent = await refund(card, id, '100')
  t.equal((await card.order(id)).state, 'refunded')
  await card.send(card.stripe.ledger.endRefund(sent.providerId as string, 'failed'))
  t.equal(await card.balance(), 10_000)
  t.equal((await card.order(id)).state, 'credited')
  await sendAll(card)
  t.equal(await card.balance(), 10_000, 'the message that it was done comes late')
  t.equal(card.stripe.ledger.total, 10_000)
})

t.test('a refund whose answer gets lost is sent once', async t => {
  for (const faults of [['made_reset'], ['made_500'], ['html'], ['reset'], ['429']] as const) {
    const card = await openCard(t)
    const { id } = await card.paid()
    card.stripe.fail(REFUND, ...faults)
    const sent = await refund(card, id, '40')
    t.match(sent, { state: 'frozen', providerId: null }, faults[0])
    t.equal(await card.balance(), 6_000, 'nobody knows, so the money stays out of the balance')
    for (let i = 0; i < 4; i++) {
      card.clock.advance(61 * MINUTE_MS)
      await card.round()
    }
    t.match(await card.store.pay.refund('card', sent.id), { state: 'done' })
    t.equal(card.stripe.ledger.all('refund').length, 1)
    t.equal(await card.balance(), 6_000)
  }
})

t.test('a refund is found again when its idempotency key is forgotten', async t => {
  const card = await openCard(t)
  const { id } = await card.paid()
  card.stripe.ledger.refundStatus = 'pending'
  card.stripe.fail(REFUND, 'made_500')
  const sent = await refund(card, id, '40')
  for (let i = 0; i < 3; i++) {
    card.clock.advance(25 * 60 * MINUTE_MS)
    await card.round()
  }
  t.match(await card.store.pay.refund('card', sent.id), { state: 'frozen', providerId: /^re_/ })
  t.equal(card.stripe.ledger.all('refund').length, 1)
})

t.test('refunds that Stripe refuses stay frozen', async t => {
  const card = await openCard(t)
  const { id, session } = await card.paid()
  const { payment_intent } = card.stripe.ledger.get('checkout.session', session)
  card.stripe.ledger.createRefund({ payment_intent })
  t.match(await refund(card, id, '40'), { state: 'frozen' })
  t.equal(await card.balance(), 6_000)
  await sendAll(card)
  t.equal(await card.balance(), 0, 'all went back at Stripe, and what is frozen is a part of it')
  for (let i = 0; i < 2; i++) {
    card.clock.advance(61 * MINUTE_MS)
    await card.round()
  }
  t.same(await card.exceptions(), ['refund_amount', 'refund_stuck'], 'a person is told of each, once')
  t.equal((await card.store.audit()).ok, true)
})

t.test('a refund that was made on Stripe’s own pages debits its order', async t => {
  const rows: [name: string, act: (card: Card, intent: string) => void, fen: number, state: string][] = [
    [
      'a part',
      ({ stripe }, payment_intent) => stripe.ledger.createRefund({ payment_intent, amount: 3_000 }),
      7_000,
      'credited',
    ],
    [
      'two parts',
      ({ stripe }, payment_intent) => {
        for (const amount of [3_000, 2_000]) stripe.ledger.createRefund({ payment_intent, amount })
      },
      5_000,
      'credited',
    ],
    ['all', ({ stripe }, payment_intent) => stripe.ledger.createRefund({ payment_intent }), 0, 'refunded'],
    [
      'all, and it failed',
      ({ stripe }, payment_intent) =>
        stripe.ledger.endRefund(stripe.ledger.createRefund({ payment_intent }).id, 'failed'),
      10_000,
      'credited',
    ],
  ]
  for (const [name, act, fen, state] of rows) {
    const card = await openCard(t)
    const { id, session } = await card.paid()
    card.stripe.ledger.events.length = 0
    act(card, card.stripe.ledger.get('checkout.session', session).payment_intent)
    const events = [...card.stripe.ledger.events]
    for (const event of [...events, ...events.reverse()]) t.equal(await card.send(event), 200)
    t.equal(await card.balance(), fen, name)
    t.equal((await card.order(id)).state, state)
    t.equal(card.stripe.ledger.total, fen)
    t.same(await card.exceptions(), [])
    t.equal((await card.store.audit()).ok, true)
  }
})

t.test('a refund that is told before its payment is sent again later', async t => {
  const card = await openCard(t)
  const { session } = await card.open()
  const { ledger } = card.stripe
  const paid = ledger.pay(session)
  ledger.createRefund({ payment_intent: ledger.get('checkout.session', session).payment_intent, amount: 3_000 })
  const refunded = ledger.events.find(event => event.type === 'refund.created')
  t.equal(await card.send(refunded), 500)
  t.equal(await card.send(paid), 200)
  t.equal(await card.send(refunded), 200)
  t.equal(await card.balance(), 7_000)
})

t.test('disputes', async t => {
  const moved = [{ amount: -10_000 }]
  const rows: [name: string, opened: Json, then: Json[], fen: number, exceptions: string[]][] = [
    ['opened', {}, [], 0, ['dispute']],
    ['under review', { status: 'under_review' }, [], 0, []],
    ['of a part', { amount: 4_000 }, [], 6_000, ['dispute']],
    ['of more, because rates moved', { amount: 10_300 }, [], 0, ['dispute']],
    ['in another currency', { amount: 1_450, currency: 'usd' }, [], 0, ['dispute']],
    ['won', {}, [{ status: 'under_review' }, { status: 'won' }], 10_000, []],
    ['lost', {}, [{ status: 'lost' }], 0, []],
    [
      'lost, appealed and won',
      {},
      [{ status: 'lost' }, { status: 'appeal_under_review' }, { status: 'won' }],
      10_000,
      [],
    ],
    ['a part lost', { amount: 4_000 }, [{ status: 'lost' }], 6_000, []],
    ['an inquiry', { status: 'warning_needs_response' }, [], 10_000, ['fraud_warning']],
    ['an inquiry under review', { status: 'warning_under_review' }, [], 10_000, []],
    ['an inquiry that ended', { status: 'warning_under_review' }, [{ status: 'warning_closed' }], 10_000, []],
    [
      'an inquiry that became a dispute',
      { status: 'warning_under_review' },
      [{ status: 'needs_response' }],
      0,
      ['dispute'],
    ],
    ['prevented by giving the money back', {}, [{ status: 'prevented', balance_transactions: moved }], 0, []],
    ['prevented, and no money moved', {}, [{ status: 'prevented' }], 10_000, []],
  ]
  for (const [name, opened, then, fen, exceptions] of rows) {
    const card = await openCard(t)
    const { session } = await card.paid()
    const event = card.stripe.ledger.dispute(session, opened)
    t.equal(await card.send(event), 200)
    for (const change of then)
      t.equal(await card.send(card.stripe.ledger.moveDispute(event.data.object.id, change)), 200)
    t.equal(await card.balance(), fen, name)
    t.same(await card.exceptions(), exceptions, name)
    await card.send({ ...event, id: `${event.id}again` })
    t.equal(await card.balance(), fen, `${name}: the first message comes again, late`)
    t.equal((await card.store.audit()).ok, true, name)
  }
})

t.test('a dispute says until when it must be answered, and closes when the bank has decided', async t => {
  const card = await openCard(t)
  const { session, id } = await card.paid()
  const event = card.stripe.ledger.dispute(session)
  const dueAtMs = event.data.object.evidence_details.due_by * 1_000
  await card.send(event)
  t.match(await oneOrder(card, id), {
    exceptions: [{ kind: 'dispute', due_at: new Date(dueAtMs).toISOString(), resolved_at: null }],
  })
  await card.send(card.stripe.ledger.moveDispute(event.data.object.id, { status: 'lost' }))
  t.match(await card.store.pay.exceptions({ kind: 'dispute', limit: 9 }), [
    { dueAtMs, resolvedBy: 'card', resolution: 'closed: the dispute is lost' },
  ])
  await card.send({ ...event, id: 'evt_again' })
  t.same(await card.exceptions(), [])
})

t.test('what is left of a payment that Stripe warns of goes back once', async t => {
  const back = async (card: Card, id: string) =>
    (await card.store.pay.refunds(id)).map(({ kind, amount, state }) => [kind, amount / 10_000, state])
  for (const [name, before, fen, refunds] of [
    ['all of it', async () => {}, 0, [['refund', 10_000, 'done']]],
    [
      'what a refund has left',
      (card, id) => refund(card, id, '40'),
      0,
      [
        ['refund', 4_000, 'done'],
        ['refund', 6_000, 'done'],
      ],
    ],
    [
      'also money that is spent',
      async ({ store, account }) => {
        const entry = {
          kind: 'adjustment',
          amount: micro(-90_000_000),
          reference: 'spent',
          actor: 'x',
          note: '',
        } as const
        await store.entries.add(account.id, entry, ACT)
      },
      -9_000,
      [['refund', 10_000, 'done']],
    ],
  ] as [string, (card: Card, id: string) => Promise<unknown>, number, unknown[]][]) {
    const card = await openCard(t)
    const { session, id } = await card.paid()
    await before(card, id)
    const event = card.stripe.ledger.warnOfFraud(session)
    await Promise.all([1, 2].map(() => card.send(event)))
    t.equal(await card.balance(), fen, `${name}: it is out of the balance at once`)
    for (let i = 0; i < 2; i++) {
      await card.round()
      await card.send({ ...event, id: `${event.id}${i}` })
    }
    t.same(await back(card, id), refunds, name)
    t.equal(card.stripe.ledger.total, 0, name)
    t.same(await card.exceptions(), ['fraud_warning'], 'a person is told')
    t.match(await card.store.audit(), { ok: true })
  }
  const card = await openCard(t)
  const { session, id } = await card.paid()
  await card.send(card.stripe.ledger.warnOfFraud(session, false))
  t.same([await card.exceptions(), await back(card, id)], [[], []], 'what is refunded or disputed needs nobody')
})

t.test(
  'a refund that Stripe refuses because of a dispute gives way to it: frozen once, and never in the balance',
  async t => {
    const stopped: Record<string, (card: Card, id: string) => Promise<unknown>> = {
      'after a warning of fraud': async (card, id) => {
        const { ledger } = card.stripe
        const { id: intent } = ledger.all('payment_intent').find(row => row.metadata.order === id) as Json
        const session = ledger.all('checkout.session').find(row => row.payment_intent === intent) as Json
        await card.send(ledger.warnOfFraud(session.id))
      },
      'of an operator, which could not be sent at first': async (card, id) => {
        card.stripe.fail(REFUND, 'reset')
        await refund(card, id, '100')
      },
    }
    const rows: [name: string, dispute: Json, end: string | null, fen: number, state: string][] = [
      ['all is disputed', {}, null, 0, 'credited'],
      ['all is lost', {}, 'lost', 0, 'reversed'],
      ['all is won', {}, 'won', 10_000, 'credited'],
      ['a part is disputed', { amount: 4_000 }, null, 6_000, 'credited'],
      ['a part is lost', { amount: 4_000 }, 'lost', 6_000, 'credited'],
    ]
    for (const [begun, begin] of Object.entries(stopped))
      for (const told of ['the dispute is told before the refund is refused', 'after it'])
        for (const [name, fields, end, fen, state] of rows) {
          const about = `${begun}; ${name}; ${told}`
          const card = await openCard(t)
          const { id, session } = await card.paid()
          await begin(card, id)
          t.equal(await card.balance(), 0, about)
          const event = card.stripe.ledger.dispute(session, fields)
          if (told !== 'after it') t.equal(await card.send(event), 500, `${about}: it is to come again`)
          for (let i = 0; i < 2; i++) {
            card.clock.advance(61 * MINUTE_MS)
            await card.round()
          }
          const disputeId = event.data.object.id
          t.match(await card.store.pay.refunds(id), [{ kind: 'refund', state: 'released' }, { id: disputeId }], about)
          t.equal(await card.send({ ...event, id: `${event.id}again` }), 200)
          if (end !== null) await card.send(card.stripe.ledger.moveDispute(disputeId, { status: end }))
          await card.round()
          t.equal(await card.balance(), fen, about)
          t.equal((await card.order(id)).state, state, about)
          t.same(
            (await card.exceptions()).filter(kind => kind !== 'fraud_warning'),
            end === null ? ['dispute'] : [],
            `${about}: only the bank’s question needs a person`,
          )
          t.match(await card.store.audit(), { ok: true }, about)
        }
  },
)

t.test('a refund that was accepted and fails because of a dispute gives way to it too, told or asked', async t => {
  for (const told of [true, false]) {
    const card = await openCard(t)
    const { id, session } = await card.paid()
    card.stripe.ledger.refundStatus = 'pending'
    const { providerId } = await refund(card, id, '100')
    const event = card.stripe.ledger.dispute(session)
    const failed = card.stripe.ledger.endRefund(providerId as string, 'failed', 'charge_for_pending_refund_disputed')
    if (told) await card.send(failed)
    else {
      card.clock.advance(61 * MINUTE_MS)
      await card.round()
    }
    await card.send(event)
    t.equal(await card.balance(), 0)
    t.match(await card.store.pay.refunds(id), [{ state: 'released' }, { kind: 'dispute', state: 'frozen' }])
    t.same(await card.exceptions(), ['dispute'])
    t.match(await card.store.audit(), { ok: true })
  }
})

t.test('a refund that Stripe refuses as disputed, and shows no dispute of, needs a person', async t => {
  const card = await openCard(t)
  const { id, session } = await card.paid()
  const { data } = card.stripe.ledger.dispute(session)
  card.stripe.ledger.objects.get(data.object.id)!.payment_intent = 'pi_other'
  t.match(await refund(card, id, '100'), { state: 'frozen' })
  t.same(await card.exceptions(), ['refund_stuck'])
})

t.test('a warning before its payment is known is sent again later', async t => {
  const card = await openCard(t)
  const { session } = await card.open()
  const paid = card.stripe.ledger.pay(session)
  const event = card.stripe.ledger.warnOfFraud(session)
  t.equal(await card.send(event), 500)
  t.equal(await card.send(paid), 200)
  t.equal(await card.send(event), 200)
  t.equal(await card.balance(), 0)
})

t.test('money of other shops on the same account is nobody’s business here', async t => {
  const card = await openCard(t)
  const { ledger } = card.stripe
  const shirt = ledger.createSession({
    mode: 'payment',
    line_items: { 0: { quantity: 1, price_data: { currency: 'cny', unit_amount: 9_900 } } },
    expires_at: Math.floor(card.clock.now() / 1_000) + 3_600,
    success_url: 'https://x.example',
    adaptive_pricing: { enabled: 'false' },
  })
  ledger.pay(shirt.id)
  ledger.createRefund({ payment_intent: ledger.get('checkout.session', shirt.id).payment_intent, amount: 100 })
  ledger.dispute(shirt.id)
  ledger.warnOfFraud(shirt.id)
  for (const event of [...ledger.events].reverse()) t.equal(await card.send(event), 200)
  t.same(await card.exceptions(), [])
  t.equal(await card.balance(), 0)
})

t.test('webhooks that got lost are found in the list of events', async t => {
  const card = await openCard(t)
  const { ledger } = card.stripe
  await card.round()
  const orders = [await card.paid(), await card.paid(), await card.paid()] as const
  const intent = (i: 0 | 1 | 2) => ledger.get('checkout.session', orders[i].session).payment_intent
  ledger.createRefund({ payment_intent: intent(0), amount: 3_000 })
  ledger.dispute(orders[1].session)
  ledger.warnOfFraud(orders[2].session)
  await card.round()
  t.equal(await card.balance(), 30_000, 'webhooks get some time')
  card.clock.advance(8 * MINUTE_MS)
  const seenBefore = card.stripe.asked.length
  await card.round()
  t.equal(await card.balance(), 7_000)
  t.same((await card.exceptions()).toSorted(), ['dispute', 'fraud_warning'])
  t.notOk(
    card.stripe.asked.slice(seenBefore).includes('GET /v1/checkout/sessions/:id'),
    'what came as a webhook is passed over',
  )
  for (let i = 0; i < 3; i++) {
    card.clock.advance(6 * MINUTE_MS)
    await card.round()
  }
  t.equal(await card.balance(), 7_000)
})

t.test('the list of events is read on where it ended when Stripe was away, page by page', async t => {
  const card = await openCard(t)
  await card.round()
  const { id, session } = await card.paid()
  const { ledger } = card.stripe
  ledger.createRefund({ payment_intent: ledger.get('checkout.session', session).payment_intent, amount: 3_000 })
  for (let i = 0; i < 250; i++)
    ledger.emit('checkout.session.expired', { id: `cs_test_of_others${i}`, metadata: {}, client_reference_id: null })
  card.clock.advance(30 * 60 * MINUTE_MS)
  card.stripe.fail('GET /v1/events', '429')
  await card.round()
  t.equal(await card.balance(), 10_000)
  for (let i = 0; i < 2; i++) {
    card.clock.advance(2 * MINUTE_MS)
    await card.round()
  }
  t.equal(await card.balance(), 7_000)
  t.equal((await card.order(id)).refunded, 30_000_000)
})

const lines = async (card: Card, ms: number): Promise<BillLine[]> =>
  Array.fromAsync(card.method.bill(new Date(ms + 8 * 3_600_000).toISOString().slice(0, 10)))

t.test('the bill of a day has its payments and refunds, in China’s day', async t => {
  const card = await openCard(t)
  const noon = new Date(card.clock.now()).setUTCHours(4, 0, 0, 0)
  card.clock.step(noon - card.clock.now())
  const orders: string[] = []
  for (let i = 0; i < 4; i++) orders.push((await card.paid()).id)
  await card.desk.refunds.begin(orders[0] as string, '40', 'asked for', false, ACT)
  const bill = await lines(card, noon)
  t.same(new Set(bill.filter(line => line.kind === 'paid').map(line => line.orderId)), new Set(orders))
  t.match(
    bill.find(line => line.kind === 'refund'),
    { orderId: orders[0], amount: 4_000, state: 'done', refundId: /^R/ },
  )
  for (const line of bill) t.equal(await card.desk.notices.take('card', line, 'bill'), 'known', 'nothing is new')
  t.same(await lines(card, noon - 86_400_000), [])
  t.same(await lines(card, noon + 86_400_000), [])
  t.equal(await card.balance(), 36_000)
})

t.test('a payment that only the bill tells of', async t => {
  const card = await openCard(t)
  const { session, id } = await card.open()
  card.stripe.ledger.pay(session)
  for (const line of await lines(card, card.clock.now())) await card.desk.notices.take('card', line, 'bill')
  t.equal((await card.order(id)).state, 'credited')
  t.equal(await card.balance(), 10_000)
})

t.test('a payment at midnight is of the day on which the payer paid, in the books and in the bill', async t => {
  const card = await openCard(t)
  const late = new Date(card.clock.now()).setUTCHours(15, 59, 58, 0) - 86_400_000 // 23:59:58 in China
  card.clock.step(late - card.clock.now())
  const bills = () => card.desk.bills(() => false)
  await bills()
  const { session, id } = await card.open()
  const event = card.stripe.ledger.pay(session)
  card.stripe.ledger.balance[0].created += 4 // the balance moves on the next day
  card.clock.advance(10_000)
  await card.send(event)
  t.equal((await card.store.pay.proofs(id))[0]?.paidAtMs, late)
  for (let day = 0; day < 3; day++) {
    card.clock.advance(86_400_000)
    await bills()
  }
  const read = (await card.store.pay.payMarks()).find(({ what }) => what === 'bill')
  t.equal(read?.value, new Date(late + 56 * 3_600_000).toISOString().slice(0, 10), 'the bills of three days were read')
  t.same(await card.exceptions(), [])
})
