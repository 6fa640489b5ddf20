/** What becomes of notices: an order is credited once and by proof only; what does not fit waits for a person. */
import t from 'tap'
import type { DisputeNotice, Notice, Payment, RefundNotice } from '../../lib/pay/method.ts'
import type { PayExceptionKind } from '../../lib/terms/pay.ts'
import { ACT, faultOf, openDesk, TestProvider } from './support.ts'

t.test('a payment that fits is credited once, however often it is told', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  const payment = desk.provider.payment(id)
  t.equal(await desk.notices.take('alipay', payment, 'callback'), 'credited')
  t.same(await Promise.all([1, 2, 3].map(() => desk.notices.take('alipay', payment, 'query'))), Array(3).fill('known'))
  t.equal(await desk.balance(), 10_000)
  t.equal(await desk.state(id), 'credited')
  t.same(desk.counted, ['credited alipay'], 'a callback repairs nothing')
})

t.test('every field of a payment is compared with the order', async t => {
  const rows: [change: Partial<Payment>, kind: PayExceptionKind][] = [
    [{ amount: 9_999 }, 'amount'],
    [{ amount: 10_001 }, 'amount'],
    [{ amount: 0 }, 'amount'],
    [{ currency: 'USD' }, 'currency'],
    [{ currency: 'cny' }, 'currency'],
    [{ merchant: 'others' }, 'merchant'],
    [{ merchant: '' }, 'merchant'],
    [{ sandbox: true }, 'mode'],
    [{ providerId: 'p-of-another-session' }, 'unknown_order'],
    [{ orderId: `T${'0'.repeat(26)}` }, 'unknown_order'],
  ]
  for (const [change, kind] of rows) {
    const desk = await openDesk(t)
    const { id } = await desk.begin('100')
    const payment = desk.provider.payment(id, change)
    for (const source of ['callback', 'query', 'callback'] as const)
      t.equal(await desk.notices.take('alipay', payment, source), 'open', JSON.stringify(change))
    t.equal(await desk.balance(), 0)
    t.not(await desk.state(id), 'paid')
    t.match(await desk.store.pay.exceptions({ open: true, limit: 9 }), [{ kind, transactionId: `tx-${id}` }])
    t.same(desk.counted, [`exception alipay ${kind}`], 'one exception, however often it comes')
  }
})

t.test('a payment of one method cannot pay an order of another', async t => {
  const desk = await openDesk(t, { providers: [new TestProvider('alipay'), new TestProvider('wechat')] })
  const { id } = await desk.begin('100', 'wechat')
  const forged = {
    ...new TestProvider('wechat').payment.call(
      {
        trades: new Map([[id, { asked: 10_000, currency: 'CNY', transactionId: 'x' }]]),
        merchant: 'us',
        sandbox: false,
      } as never,
      id,
    ),
  }
  t.equal(await desk.notices.take('alipay', forged, 'callback'), 'open')
  t.match(await desk.store.pay.exceptions({ limit: 9 }), [{ kind: 'method' }])
  t.equal(await desk.balance(), 0)
})

t.test('a second payment of an order credits nothing and is shown to a person', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
  t.equal(await desk.notices.take('alipay', desk.provider.payment(id, { transactionId: 'again' }), 'callback'), 'open')
  t.equal(await desk.balance(), 10_000)
  t.match(await desk.store.pay.exceptions({ limit: 9 }), [{ kind: 'duplicate', transactionId: 'again' }])
})

t.test('a message that an order has ended never takes a credit away', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
  await desk.notices.take('alipay', { kind: 'ended', orderId: id }, 'callback')
  t.equal(await desk.state(id), 'credited')
})

const refund = (orderId: string, change: Partial<RefundNotice> = {}): RefundNotice => ({
  kind: 'refund',
  refundId: null,
  providerId: 're_1',
  orderId,
  amount: 4_000,
  state: 'done',
  ...change,
})

const dispute = (orderId: string, state: DisputeNotice['state'], amount = 10_000): DisputeNotice => ({
  kind: 'dispute',
  disputeId: 'dp_1',
  orderId,
  amount,
  state,
})

t.test('money that goes back', async t => {
  const rows: [name: string, notices: (id: string) => Notice[], fen: number, exceptions: PayExceptionKind[]][] = [
    ['a refund that was made at the provider', id => [refund(id)], 6_000, []],
    ['the same, told three times', id => [refund(id), refund(id), refund(id)], 6_000, []],
    ['two of them', id => [refund(id), refund(id, { providerId: 're_2' })], 2_000, []],
    ['more than was paid', id => [refund(id, { amount: 10_001 })], 0, ['refund_amount']],
    [
      'more than is left, told twice',
      id => [refund(id), ...[1, 2].map(() => refund(id, { providerId: 're_2', amount: 7_000 }))],
      0,
      ['refund_amount'],
    ],
    [
      'all of it, twice',
      id => ['a', 'b'].map(p => refund(id, { providerId: p, amount: 10_000 })),
      0,
      ['refund_amount'],
    ],
    ['one that is undecided', id => [refund(id, { state: 'undecided' })], 10_000, []],
    ['one of an order of nobody', () => [refund(`T${'0'.repeat(26)}`)], 10_000, ['refund_unknown']],
    ['one that was done and failed later', id => [refund(id), refund(id, { state: 'returned' })], 10_000, []],
    ['a dispute freezes', id => [dispute(id, 'open')], 0, []],
    ['a dispute of a part freezes that part', id => [dispute(id, 'open', 3_000)], 7_000, []],
    ['a dispute lost', id => [dispute(id, 'open'), dispute(id, 'lost')], 0, []],
    ['a dispute lost, and the opening came late', id => [dispute(id, 'lost'), dispute(id, 'open')], 0, []],
    ['a dispute won', id => [dispute(id, 'open'), dispute(id, 'won')], 10_000, []],
    ['a dispute won that was never opened here', id => [dispute(id, 'won')], 10_000, []],
    ['a dispute of more than was paid freezes all', id => [dispute(id, 'open', 10_500)], 0, ['refund_amount']],
    ['the same, lost at once', id => [dispute(id, 'lost', 10_500), dispute(id, 'lost', 10_500)], 0, ['refund_amount']],
    [
      'a dispute of more than is left',
      id => [refund(id), dispute(id, 'open', 7_000), dispute(id, 'won', 7_000)],
      6_000,
      ['refund_amount'],
    ],
    [
      'a dispute of what is refunded already',
      id => [refund(id, { amount: 10_000 }), dispute(id, 'open')],
      0,
      ['refund_amount'],
    ],
  ]
  for (const [name, notices, fen, exceptions] of rows) {
    const desk = await openDesk(t)
    const { id } = await desk.begin('100')
    await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
    for (const notice of notices(id)) await desk.notices.take('alipay', notice, 'callback')
    t.equal(await desk.balance(), fen, name)
    t.same(
      (await desk.store.pay.exceptions({ limit: 9 })).map(e => e.kind),
      exceptions,
      name,
    )
    t.equal((await desk.store.audit()).ok, true, name)
  }
})

t.test('a refund that ended as not sent, and was sent after all, waits for a person', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
  desk.provider.refundSaid = 'released'
  const { id: refundId } = await desk.refunds.begin(id, '40', 'asked for', false, ACT)
  t.equal(await desk.balance(), 10_000)
  for (const source of ['callback', 'bill'] as const)
    t.equal(await desk.notices.take('alipay', refund(id, { refundId, providerId: 'late' }), source), 'open')
  t.match(await desk.store.pay.exceptions({ open: true, limit: 9 }), [
    { kind: 'refund_unknown', orderId: id, amount: 4_000 },
  ])
  t.equal(await desk.balance(), 10_000)
})

t.test('a refund that is told before its payment is asked for again, and books nothing', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  t.equal(await desk.notices.take('alipay', refund(id), 'callback'), 'early')
  t.equal(await desk.notices.take('alipay', dispute(id, 'open'), 'callback'), 'early')
  await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
  t.equal(await desk.notices.take('alipay', refund(id), 'callback'), 'known')
  t.equal(await desk.balance(), 6_000)
})

t.test('a person credits what was received, never more, and the proof says who and why', async t => {
  const rows: [change: Partial<Payment>, fen: number | null][] = [
    [{ amount: 9_000 }, 9_000],
    [{ amount: 12_345 }, 12_345],
    [{ merchant: 'our other shop' }, 10_000],
    [{ currency: 'USD' }, null],
    [{ sandbox: true }, null],
    [{ orderId: `T${'0'.repeat(26)}` }, null],
  ]
  for (const [change, fen] of rows) {
    const desk = await openDesk(t)
    const { id } = await desk.begin('100')
    await desk.notices.take('alipay', desk.provider.payment(id, change), 'callback')
    const [found] = await desk.store.pay.exceptions({ limit: 1 })
    const resolve = () => desk.intake.resolve(found!.id, true, 'the payer called 来电', ACT)
    if (fen === null) {
      t.equal(await faultOf(resolve()), 'conflict', JSON.stringify(change))
      t.equal(await desk.balance(), 0)
      continue
    }
    await resolve()
    t.equal(await faultOf(resolve()), 'conflict', 'once')
    t.equal(await desk.balance(), fen, JSON.stringify(change))
    t.match(await desk.store.pay.proofs(id), [{ source: 'operator', actor: 'a@b.cn', note: 'the payer called 来电' }])
    t.equal(await desk.notices.take('alipay', desk.provider.payment(id, change), 'query'), 'known', 'told again')
    t.equal(await desk.balance(), fen)
  }
})
