/** What every store must do with orders: prove and credit each once, freeze only what may go back, and add up. */
import type { Databases } from '../support/databases.ts'
import type { Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { formatMicro, micro } from '../../lib/base/money.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import type { FreezeEnd, NewOrder, NewRefund, OrderBounds } from '../../lib/store/payments/types.ts'
import type { Order, OrderMethod, OrderState } from '../../lib/terms/pay.ts'
import type { Act } from '../../lib/base/people.ts'
import { ACT, FEN, LOOSE, newOrder, newRefund, proofOf } from '../support/orders.ts'
import { seeded } from '../support/random.ts'
import { fund, openDriver, settlement, usageRow } from '../support/store.ts'

export function paySuite(t: Test, { newUrl, pair }: Databases): void {
  const check = (name: string, fn: (t: Test, one: Store, two: Store) => Promise<void>) =>
    t.test(name, async t => {
      const { one, two } = await pair(t, { secret: 'x' })
      for (const id of ['h1', 'h2']) await one.holders.register({ id, host: 'here', beat: 0 })
      await fn(t, one, two)
    })

  const made = async (store: Store, order: NewOrder): Promise<string> => {
    const result = await store.pay.makeOrder(order, LOOSE, ACT)
    if (!('order' in result)) throw new Error(result.bound)
    return result.order.id
  }
  const credited = async (store: Store, order: NewOrder): Promise<string> => {
    const id = await made(store, order)
    await store.pay.proveOrder(proofOf(id, `tx-${id}`, { method: order.method }))
    await store.pay.creditOrder(id, order.amount, '', ACT)
    return id
  }
  const balanceOf = async (store: Store, accountId: number): Promise<number> => {
    const [purse] = await store.books.purses([accountPurse(accountId)])
    return (purse?.credit as number) - (purse?.spent as number)
  }

  check('an order is made within its bounds, with its line in the log of actions', async (t, one) => {
    const { account } = await fund(one, 'a', 0)
    const bounds: OrderBounds = {
      open: 2,
      failed: 1_000,
      begun: 1_000,
      anHour: null,
      anHourOfAll: null,
      aDay: micro(2_000 * FEN),
    }
    const first = newOrder(account.id)
    const result = await one.pay.makeOrder(first, bounds, ACT)
    t.match(result, { order: { ...first, state: 'created', credited: 0, providerId: null, checks: 0, late: false } })
    t.match(await one.actions.page({ accountId: account.id, limit: 9 }), [
      {
        operation: 'orders.create',
        subject: { kind: 'order', id: first.id },
        after: { amount: formatMicro(micro(500 * FEN)) },
      },
    ])
    const tooMuch = { ...newOrder(account.id), amount: micro(1_501 * FEN) }
    t.same(await one.pay.makeOrder(tooMuch, bounds, ACT), { bound: 'aDay' })
    t.hasProp(await one.pay.makeOrder(newOrder(account.id), bounds, ACT), 'order')
    t.same(await one.pay.makeOrder(newOrder(account.id), bounds, ACT), { bound: 'open' })
    await one.pay.endOrder(first.id, 'expired', null)
    const card = (change: Partial<OrderBounds>) =>
      one.pay.makeOrder(newOrder(account.id, { method: 'card' }), { ...bounds, ...change }, ACT)
    t.same(await card({ anHour: 0 }), { bound: 'anHour' })
    t.same(await card({ anHourOfAll: 0 }), { bound: 'anHourOfAll' })
    t.hasProp(await card({ anHour: 1, anHourOfAll: 1 }), 'order')
    const { account: other } = await fund(one, 'refused', 0)
    for (let i = 0; i < 2; i++) {
      const refused = newOrder(other.id)
      t.hasProp(await one.pay.makeOrder(refused, { ...LOOSE, failed: 2 }, ACT), 'order')
      await one.pay.endOrder(refused.id, 'failed', null)
    }
    t.same(await one.pay.makeOrder(newOrder(other.id), { ...LOOSE, failed: 2 }, ACT), { bound: 'failed' })
  })

  check('of many orders at once, no more are made than may be open', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 ? one : two).pay.makeOrder(newOrder(account.id), { ...LOOSE, open: 3 }, ACT),
      ),
    )
    t.equal(results.filter(result => 'order' in result).length, 3)
  })

  check(
    'of many orders of many accounts at once, no more are made than all may begin in an hour',
    async (t, one, two) => {
      const accounts = await Promise.all(Array.from({ length: 8 }, (_, i) => fund(one, `a${i}`, 0)))
      const bounds = { ...LOOSE, anHourOfAll: 3 }
      const results = await Promise.all(
        accounts.map(({ account }, i) =>
          (i % 2 ? one : two).pay.makeOrder(newOrder(account.id, { method: 'card' }), bounds, ACT),
        ),
      )
      t.equal(results.filter(result => 'order' in result).length, 3)
    },
  )

  const steps: [name: string, from: OrderState, to: OrderState, late: boolean][] = [
    ['a proof before the payer was shown anything', 'created', 'paid', false],
    ['a proof of a pending order', 'pending', 'paid', false],
    ['a proof after the order expired', 'expired', 'paid', true],
    ['a proof after the order failed', 'failed', 'paid', true],
  ]
  check('proofs move orders, and nothing else does', async (t, one) => {
    const { account } = await fund(one, 'a', 0)
    for (const [name, from, to, late] of steps) {
      const id = await made(one, newOrder(account.id))
      if (from === 'pending') await one.pay.orderShown(id, 'p1', { qr: 'x' })
      if (from === 'expired' || from === 'failed') await one.pay.endOrder(id, from, 5)
      t.equal((await one.pay.order(id))?.state, from)
      t.equal((await one.pay.creditOrder(id, micro(500 * FEN), '', ACT)).outcome, 'unpaid', 'no credit without proof')
      t.equal(await one.pay.proveOrder(proofOf(id, `t-${id}`)), 'paid', name)
      t.match(await one.pay.order(id), { state: to, late, checkAtMs: null })
    }
    const id = await credited(one, newOrder(account.id))
    for (const state of ['expired', 'failed'] as const)
      t.equal((await one.pay.endOrder(id, state, null))?.state, 'credited', `${state} comes too late`)
    t.equal((await one.pay.orderShown(id, 'late', { qr: 'y' }))?.state, 'credited')
    const expired = await made(one, newOrder(account.id))
    await one.pay.endOrder(expired, 'expired', null)
    t.equal((await one.pay.endOrder(expired, 'failed', null))?.state, 'expired', 'nothing but a proof leaves expired')
    t.equal((await one.pay.orderShown(expired, 'p', { qr: 'y' }))?.state, 'expired')
  })

  check('fifty deliveries of one message, on two gateways, credit once', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    const id = await made(one, newOrder(account.id))
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const store = i % 2 ? one : two
        const proven = await store.pay.proveOrder(proofOf(id, 'tx'))
        return [proven, (await store.pay.creditOrder(id, micro(500 * FEN), '', ACT)).outcome].join(' ')
      }),
    )
    t.equal(outcomes.filter(o => o.startsWith('paid')).length, 1)
    t.equal(outcomes.filter(o => o.endsWith('credited')).length, 1)
    t.ok(outcomes.every(o => /^(paid|known) (credited|known)$/.test(o)))
    t.equal(await balanceOf(one, account.id), 500 * FEN)
    t.equal((await one.pay.proofs(id)).length, 1)
  })

  check('a second payment of an order credits nothing, and one payment belongs to one order', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    const first = await credited(one, newOrder(account.id))
    const again = proofOf(first, 'again')
    for (const store of [one, two]) t.equal(await store.pay.proveOrder(again), 'second', 'until it is kept')
    for (const store of [one, two]) await store.pay.keepProof(again)
    t.equal(await two.pay.proveOrder(again), 'known')
    t.equal((await one.pay.proofs(first)).length, 2)
    const other = await made(one, newOrder(account.id))
    t.equal(await two.pay.proveOrder(proofOf(other, `tx-${first}`)), 'elsewhere')
    t.equal((await one.pay.order(other))?.state, 'created')
    t.equal(await one.pay.proveOrder(proofOf(other, 'again', { method: 'wechat' })), 'paid', 'ids are of a method')
    t.equal(await balanceOf(one, account.id), 500 * FEN)
    t.equal((await one.audit()).ok, true)
  })

  check('the reference of a payment counts once in the store', async (t, one) => {
    const { account } = await fund(one, 'a', 0)
    const { account: other } = await fund(one, 'b', 0)
    const id = await made(one, newOrder(account.id))
    await one.pay.proveOrder(proofOf(id, 'tx'))
    const entry = { kind: 'payment', amount: micro(1), reference: `topup:${id}`, actor: 'x', note: '' } as const
    await one.entries.add(other.id, entry, ACT)
    t.equal((await one.pay.creditOrder(id, micro(500 * FEN), '', ACT)).outcome, 'conflict')
    t.equal((await one.pay.order(id))?.state, 'paid')
    t.match(await one.pay.uncredited(Number.MAX_SAFE_INTEGER, 9), [{ id }])
  })

  check('whether a payment is held is decided once, by disputes and warnings of its own kind', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    const card = (change: Partial<NewOrder> = {}) => newOrder(account.id, { method: 'card', ...change })
    const paid = (id: string) => proofOf(id, `tx-${id}`, { method: 'card' })
    const [first, second, third] = [await credited(one, card()), await credited(one, card()), await made(one, card())]
    const dispute = newRefund(first, 'du_1', 500, { method: 'card', kind: 'dispute' })
    await one.pay.freeze(dispute, true, null, ACT)
    const warn = (orderId: string, reference: string, method: OrderMethod = 'card') =>
      one.pay.raiseException({ method, kind: 'fraud_warning', reference, orderId, detail: 'x' })
    await warn(first, 'w1')
    await warn(await credited(one, newOrder(account.id)), 'w2', 'alipay')
    await warn(await credited(one, card({ sandbox: true })), 'w3')
    await warn('T'.padEnd(27, '9'), 'w4')
    const count = (sinceMs: number, sandbox = false) => one.pay.disputedOrders('card', sandbox, sinceMs)
    t.same([await count(0), await count(0, true), await count(Number.MAX_SAFE_INTEGER)], [1, 1, 0])
    const hold = { disputes: 2, sinceMs: 0, untilMs: 5_000 }
    t.equal(await one.pay.proveOrder(paid(third), hold), 'paid')
    t.match(await one.pay.order(third), { state: 'paid', heldUntilMs: null }, 'one is not enough')
    await warn(second, 'w5')
    const [id, late] = [await made(one, card()), await made(one, card())]
    const said = await Promise.all([one, two, one, two].map(store => store.pay.proveOrder(paid(id), hold)))
    t.same(said.sort(), ['known', 'known', 'known', 'paid'])
    await one.pay.proveOrder(paid(id), { ...hold, untilMs: 9_000 })
    await one.pay.proveOrder(paid(late))
    t.match(await two.pay.order(id), { state: 'paid', heldUntilMs: 5_000 })
    t.match(await two.pay.order(late), { state: 'paid', heldUntilMs: null }, 'without the setting')
    t.same(await one.pay.heldOrders(4_999), { count: 1, amount: 500 * FEN })
    t.same(await one.pay.heldOrders(5_000), { count: 0, amount: 0 })
    t.same(await one.pay.uncredited(5_000, 9), [], 'it is due after its time')
    t.match(await one.pay.uncredited(5_001, 9), [{ id }])
    const act = { ...ACT, operation: 'payments.release' }
    const ended = await Promise.all([one, two].map(store => store.pay.releaseOrder(id, 3_000, 'known 熟客', act)))
    t.same(ended.sort(), [false, true])
    t.match(await one.pay.order(id), { state: 'paid', heldUntilMs: 3_000 })
    t.match(await one.actions.page({ operation: 'payments.release', limit: 9 }), [
      { subject: { id }, accountId: account.id, after: { reason: 'known 熟客' } },
    ])
  })

  check('what goes back of an order that is held is never in the balance', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    const id = await made(one, newOrder(account.id))
    await one.pay.proveOrder(proofOf(id, 'tx'), { disputes: 0, sinceMs: 0, untilMs: 5_000 })
    const back = { refund: newRefund(id, 'r', 400, { kind: 'dispute' }), checkAtMs: null, act: ACT }
    const tries = [one, two, one].map(store => store.pay.creditOrder(id, micro(500 * FEN), '', ACT, back))
    t.same((await Promise.all(tries)).map(({ outcome }) => outcome).sort(), ['credited', 'known', 'known'])
    t.match(await one.pay.order(id), { state: 'credited', credited: 500 * FEN, frozen: 400 * FEN })
    t.equal(await balanceOf(one, account.id), 100 * FEN)
    const other = await made(one, newOrder(account.id))
    await one.pay.proveOrder(proofOf(other, 'other'), { disputes: 0, sinceMs: 0, untilMs: 5_000 })
    const more = { ...back, refund: newRefund(other, 'more', 501, { kind: 'dispute' }) }
    await t.rejects(one.pay.creditOrder(other, micro(500 * FEN), '', ACT, more), 'both, or neither')
    t.match(await one.pay.order(other), { state: 'paid', credited: 0, frozen: 0 })
    t.ok((await one.audit()).ok)
  })

  check(
    'a refund that gives way to a dispute ends in the transaction that freezes the dispute',
    async (t, one, two) => {
      const { account } = await fund(one, 'a', 0)
      const id = await credited(one, newOrder(account.id))
      await one.pay.freeze(newRefund(id, 'r', 500), true, 5, ACT)
      const next = { refund: newRefund(id, 'du', 400, { kind: 'dispute', asked: 400 }), checkAtMs: null, act: ACT }
      const ended = await Promise.all(
        [one, two, one].map(store => store.pay.endFreeze('alipay', 'r', 'released', ACT, next)),
      )
      t.same(
        ended.map(refund => refund?.state),
        ['released', 'released', 'released'],
      )
      t.match(await one.pay.refunds(id), [
        { id: 'r' },
        { id: 'du', kind: 'dispute', state: 'frozen', amount: 400 * FEN },
      ])
      t.match(await one.pay.order(id), { credited: 500 * FEN, frozen: 400 * FEN, refunded: 0 })
      t.equal(await balanceOf(one, account.id), 100 * FEN)
      const other = await credited(one, newOrder(account.id))
      await one.pay.freeze(newRefund(other, 'r2', 500), true, 5, ACT)
      const more = { ...next, refund: newRefund(other, 'more', 501, { kind: 'dispute' }) }
      await t.rejects(one.pay.endFreeze('alipay', 'r2', 'released', ACT, more), 'both, or neither')
      t.match(await one.pay.refund('alipay', 'r2'), { state: 'frozen' })
      t.ok((await one.audit()).ok)
    },
  )

  check('what is due is taken by one gateway', async (t, one, two) => {
    const { account } = await fund(one, 'a', 0)
    const ids = await Promise.all(Array.from({ length: 8 }, () => made(one, newOrder(account.id))))
    const later = await made(one, newOrder(account.id, { checkAtMs: 3_000 }))
    const [a, b] = await Promise.all([one.pay.takeDueOrders(2_000, 500, 99), two.pay.takeDueOrders(2_000, 500, 99)])
    t.same([...a, ...b].map(order => order.id).sort(), ids.sort())
    t.same(await one.pay.takeDueOrders(2_000, 500, 99), [], 'not again before the lease ends')
    t.equal((await one.pay.takeDueOrders(2_500, 500, 99)).length, 8)
    await one.pay.orderChecked(later, null)
    t.same(
      (await one.pay.takeDueOrders(9_000, 500, 99)).some(order => order.id === later),
      false,
    )
  })

  check('money goes back only as far as it was paid, is not spent, and is free', async (t, one) => {
    const { account, key } = await fund(one, 'gift', 1_000 * FEN)
    const id = await credited(one, newOrder(account.id))
    t.equal(await one.pay.refundable(id), 500 * FEN)
    await one.books.settle([settlement(usageRow(idAt(1_000) + '0'.repeat(11), key, 200 * FEN), 'h1', 0)])
    t.equal(await one.pay.refundable(id), 300 * FEN, 'charges use paid money first')
    const settled = { kind: 'settlement', amount: micro(-100 * FEN), reference: 'row:x', actor: 'a', note: '' } as const
    await one.entries.add(account.id, settled, ACT)
    t.equal(await one.pay.refundable(id), 200 * FEN, 'a dispute that is charged is a charge')
    await one.entries.add(account.id, { ...settled, kind: 'adjustment', amount: micro(100 * FEN), reference: 'x' }, ACT)
    await one.entries.add(account.id, { ...settled, amount: micro(100 * FEN), reference: 'row:back' }, ACT)
    await one.entries.add(
      account.id,
      { ...settled, kind: 'adjustment', amount: micro(-100 * FEN), reference: 'y' },
      ACT,
    )
    await one.books.lease(accountPurse(account.id), 'h1', micro(1_250 * FEN), micro(1_250 * FEN), true)
    t.equal(await one.pay.refundable(id), 50 * FEN, 'what is leased is not free')
    t.match(await one.pay.freeze(newRefund(id, 'r', 60), false, 5, ACT), { outcome: 'short', refundable: 50 * FEN })
    t.match(await one.pay.freeze(newRefund(id, 'r', 501), true, 5, ACT), { outcome: 'bound' })
    t.match(await one.pay.freeze(newRefund(id, 'r', 50), false, 5, ACT), { outcome: 'frozen' })
    t.match(await one.pay.freeze(newRefund(id, 'r', 50), false, 5, ACT), { outcome: 'same' })
    t.match(await one.pay.freeze(newRefund(id, 'r', 51), false, 5, ACT), { outcome: 'conflict' })
    t.equal(await one.pay.refundable(id), 0)
    t.match(
      await one.pay.freeze(newRefund(id, 'forced', 60), true, 5, ACT),
      { outcome: 'frozen' },
      'forced: in any case',
    )
    t.equal((await one.audit()).imbalance, 0)
  })

  const ends: [name: string, kind: 'refund' | 'dispute', states: FreezeEnd[], order: object, kept: number][] = [
    ['refund', 'refund', ['done'], { state: 'refunded', refunded: 500 * FEN, frozen: 0 }, 0],
    ['refund again', 'refund', ['done', 'done'], { state: 'refunded', refunded: 500 * FEN }, 0],
    ['refund that failed', 'refund', ['released'], { state: 'credited', refunded: 0, frozen: 0 }, 500],
    ['refund that came back', 'refund', ['done', 'returned'], { state: 'credited', refunded: 0 }, 500],
    ['done, and an old answer', 'refund', ['done', 'released'], { state: 'refunded', refunded: 500 * FEN }, 0],
    ['released and done', 'refund', ['released', 'done'], { state: 'credited', refunded: 0 }, 500],
    ['dispute lost', 'dispute', ['done'], { state: 'reversed', reversed: 500 * FEN, frozen: 0 }, 0],
    ['dispute won', 'dispute', ['released'], { state: 'credited', reversed: 0, frozen: 0 }, 500],
  ]
  check('a freeze ends once, and as it was proven', async (t, one, two) => {
    for (const [i, [name, kind, states, order, kept]] of ends.entries()) {
      const { account } = await fund(one, `a${i}`, 0)
      const id = await credited(one, newOrder(account.id))
      const refund = newRefund(id, `r${i}`, 500, { kind })
      t.equal((await one.pay.freeze(refund, false, 7, ACT)).outcome, 'frozen')
      t.equal(await balanceOf(one, account.id), 0, `${name}: frozen money is out of the balance`)
      for (const state of states) {
        await Promise.all([one, two].map(store => store.pay.endFreeze('alipay', refund.id, state, ACT)))
      }
      t.match(await one.pay.order(id), order, name)
      t.equal(await balanceOf(one, account.id), kept * FEN, name)
      t.equal((await one.audit()).ok, true, name)
    }
    t.equal(await one.pay.endFreeze('alipay', 'nobody', 'done', ACT), null)
  })

  t.test('each refund says what its provider is asked for, also one of before that was stored', async t => {
    const url = await newUrl(t)
    const [store, driver] = [openStore(url, { secret: 'x' }), openDriver(url)]
    t.teardown(() => Promise.all([store.close(), driver.close()]))
    const { account } = await fund(store, 'a', 0)
    const dollars = { currency: 'USD', rate: 7_130_000, asked: 1_403, amount: micro(10_000 * FEN) } as const
    const id = await made(store, newOrder(account.id, dollars))
    await store.pay.proveOrder(proofOf(id, 'tx', { amount: 1_403, currency: 'USD' }))
    await store.pay.creditOrder(id, dollars.amount, '', ACT)
    const parts: [part: NewRefund, outcome: string][] = [
      [newRefund(id, 'dust', 1), 'dust'],
      [newRefund(id, 'a', 3_333), 'frozen'],
      [newRefund(id, 'there', 100, { kind: 'external', asked: 14 }), 'frozen'],
      [newRefund(id, 'rest', 6_567), 'frozen'],
    ]
    for (const [part, outcome] of parts) t.match(await store.pay.freeze(part, false, null, ACT), { outcome })
    const asked = async () => (await store.pay.refunds(id)).map(refund => [refund.id, refund.asked])
    t.same(new Map((await asked()) as [string, number][]), new Map(Object.entries({ a: 467, there: 14, rest: 922 })))
  })

  check('exceptions, events, marks and rates', async (t, one, two) => {
    const exception = {
      method: 'alipay',
      kind: 'amount',
      reference: 'tx9',
      detail: 'one fen less',
      amount: 499,
    } as const
    const raised = await Promise.all(
      [one, two].map(s => s.pay.raiseException({ ...exception, currency: 'CNY', dueAtMs: 7 })),
    )
    t.same(raised.sort(), [false, true], 'one of the two is the first')
    t.equal(await one.pay.openExceptions(), 1)
    const [row] = await one.pay.exceptions({ open: true, limit: 9 })
    t.match(row, { ...exception, orderId: null, dueAtMs: 7, resolvedAtMs: null })
    const by: Act = { ...ACT, operation: 'exceptions.resolve' }
    const resolved = await Promise.all([one, two].map(s => s.pay.resolveException(row!.id, 'looked at', by)))
    t.same(resolved.sort(), [false, true], 'one of the two resolves it')
    t.match(await one.pay.exception(row!.id), { resolution: 'looked at', resolvedBy: 'a@b.cn' })
    t.equal((await one.actions.page({ operation: 'exceptions.resolve', limit: 9 })).length, 1)

    t.equal(await one.pay.seenEvent('card', 'evt_1'), false)
    await one.pay.rememberEvent('card', 'evt_1')
    await two.pay.rememberEvent('card', 'evt_1')
    t.equal(await two.pay.seenEvent('card', 'evt_1'), true)
    t.equal(await one.pay.forgetEvents(Number.MAX_SAFE_INTEGER, 10), 1)

    await one.pay.setPayMark('card', 'bill', '2030-01-01')
    await two.pay.setPayMark('card', 'bill', '2030-01-02')
    t.match(await one.pay.payMarks(), [{ method: 'card', what: 'bill', value: '2030-01-02' }])

    const { account } = await fund(one, 'billed', 0)
    for (const [i, paidAtMs] of [1_000, 1_999, 2_000, null].entries()) {
      const order = newOrder(account.id, { method: 'card' })
      await one.pay.makeOrder(order, LOOSE, ACT)
      await one.pay.proveOrder(proofOf(order.id, `billed-${i}`, { method: 'card', paidAtMs }))
    }
    const paid = async (fromMs: number, untilMs: number, after: string, limit: number) =>
      (await two.pay.proofsPaid('card', fromMs, untilMs, after, limit)).map(proof => proof.transactionId)
    t.same(await paid(1_000, 2_000, '', 9), ['billed-0', 'billed-1'])
    t.same(await paid(1_000, 2_000, '', 1), ['billed-0'])
    t.same(await paid(1_000, 2_000, 'billed-0', 1), ['billed-1'])
    t.same(await paid(2_001, Number.MAX_SAFE_INTEGER, '', 9), ['billed-3'], 'as it was stored')
    t.same(await two.pay.proofsPaid('alipay', 1_000, 2_000, '', 9), [])

    const take = (nowMs: number) => Promise.all([one, two].map(s => s.pay.takePayMark('card', 'taken', nowMs, 100)))
    t.same((await take(1_000)).sort(), [false, true], 'one of the two takes it')
    t.same(await take(1_099), [false, false])
    t.same((await take(1_100)).sort(), [false, true])

    const rate = (value: number, fromMs: number, untilMs: number) => ({
      currency: 'USDT',
      rate: value,
      fromMs,
      untilMs,
    })
    for (const r of [rate(7_100_000, 100, 200), rate(7_200_000, 150, 160)]) await one.pay.setPayRate(r, ACT)
    const rates: [atMs: number, rate: number | undefined][] = [
      [99, undefined],
      [100, 7_100_000],
      [150, 7_200_000],
      [160, undefined],
    ]
    for (const [atMs, value] of rates) t.equal((await two.pay.payRate('USDT', atMs))?.rate, value, `at ${atMs}`)
    t.equal((await one.pay.payRates('USDT', 9)).length, 2)
  })

  check('pages of orders, counts and totals', async (t, one) => {
    const { account } = await fund(one, 'a', 0)
    const methods: OrderMethod[] = ['alipay', 'wechat', 'card']
    for (let i = 0; i < 7; i++) await credited(one, newOrder(account.id, { method: methods[i % 3] as OrderMethod }))
    await made(one, newOrder(account.id))
    const all = await one.pay.orders({ accountId: account.id, limit: 99 })
    t.equal(all.length, 8)
    for (const ascending of [false, true]) {
      const paged: Order[] = []
      for (let page: Order[] | undefined; page === undefined || page.length === 3; paged.push(...page))
        page = await one.pay.orders({
          ...{ accountId: account.id, limit: 3, ascending },
          ...(page === undefined ? {} : { beyond: page.at(-1) as Order }),
        })
      t.same(paged, ascending ? all.toReversed() : all, ascending ? 'the oldest first' : 'the newest first')
      const beforeMs = all[2]!.createdAtMs
      const before = all.filter(({ createdAtMs }) => createdAtMs < beforeMs)
      const found = await one.pay.orders({ accountId: account.id, limit: 99, ascending, beforeMs })
      t.same(found, ascending ? before.toReversed() : before, `before a time, ascending: ${ascending}`)
    }
    t.equal((await one.pay.orders({ states: ['credited'], method: 'card', limit: 99 })).length, 2)
    t.match(
      new Map((await one.pay.orderCounts()).map(row => [row.state, row.count])),
      new Map([
        ['credited', 7],
        ['created', 1],
      ]),
    )
    t.match(
      (await one.pay.payTotals()).find(row => row.method === 'alipay'),
      { credited: 1_500 * FEN, orders: 4 },
    )
  })

  check('whatever happens to orders, the books add up', async (t, one, two) => {
    const random = seeded(t)
    const { account } = await fund(one, 'a', 0)
    const ids: string[] = []
    let paidIn = 0
    for (let step = 0; step < 120; step++) {
      const store = random.next() < 0.5 ? one : two
      const id = ids.length > 0 ? random.pick(ids) : ''
      const action = random.pick(['make', 'prove', 'credit', 'freeze', 'end', 'expire'] as const)
      if (action === 'make' || id === '') ids.push(await made(store, newOrder(account.id)))
      else if (action === 'prove') await store.pay.proveOrder(proofOf(id, `tx-${id}`))
      else if (action === 'credit') {
        if ((await store.pay.creditOrder(id, micro(500 * FEN), '', ACT)).outcome === 'credited') paidIn += 500 * FEN
      } else if (action === 'expire') await store.pay.endOrder(id, 'expired', null)
      else if (action === 'freeze')
        await store.pay.freeze(newRefund(id, `r${step}`, random.int(1, 500)), random.next() < 0.3, 1, ACT)
      else
        for (const refund of await store.pay.refunds(id))
          await store.pay.endFreeze('alipay', refund.id, random.pick(['done', 'released', 'returned'] as const), ACT)
    }
    const orders = await one.pay.orders({ limit: 999 })
    const sum = (column: 'credited' | 'refunded' | 'frozen' | 'reversed') => orders.reduce((s, o) => s + o[column], 0)
    t.equal(sum('credited'), paidIn)
    t.equal(await balanceOf(one, account.id), paidIn - sum('refunded') - sum('frozen') - sum('reversed'))
    t.equal((await one.audit()).ok, true)
  })
}
