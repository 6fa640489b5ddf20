/**
 * What an account has when the store, the payer or the provider is absent, slow or wrong in a state of an order. The page of all
 * such cases (`cells.ts`) names these tests beside those that stand elsewhere.
 */
import t, { type Test } from 'tap'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import type { OrderState } from '../../lib/terms/pay.ts'
import { ACT, type Desk, openDesk } from '../pay/support.ts'

const MINUTE_MS = 60_000
/** Of 100 CNY, in fen. */
const ALL = 10_000

type How = 'absent' | 'slow' | 'wrong'

/** The store fails from now on, in one of three ways, until the function that returns. `slow`: it acts, and its answer is lost. */
function spoil(desk: Desk, how: How): () => void {
  const target = desk.store.pay as unknown as Record<string, unknown>
  const own = new Map(Object.keys(target).map(name => [name, target[name]]))
  const names = [target, Object.getPrototypeOf(target) as object].flatMap(at => Object.getOwnPropertyNames(at))
  const spoilt = new Set(names.filter(name => name !== 'constructor' && typeof target[name] === 'function'))
  for (const name of spoilt) {
    const real = target[name] as (...args: unknown[]) => unknown
    target[name] = async (...args: unknown[]) => {
      if (how === 'wrong') throw new Error('no such column')
      if (how === 'slow') await Reflect.apply(real, target, args)
      throw new StoreUnavailable(how)
    }
  }
  return () => {
    for (const name of spoilt)
      if (own.has(name)) target[name] = own.get(name)
      else Reflect.deleteProperty(target, name)
  }
}

/** Whatever fails meanwhile is tried again by the rounds that follow. */
async function rounds(desk: Desk): Promise<void> {
  for (let i = 0; i < 40; i++) {
    desk.clock.advance(MINUTE_MS)
    await desk.round()
  }
}

const ignore = () => {}

/** Brings an order into a state. */
const TO: Record<OrderState, (desk: Desk) => Promise<string>> = {
  async created(desk) {
    desk.provider.away = true
    const { id } = await desk.begin('100')
    desk.provider.away = false
    return id
  },
  pending: async desk => (await desk.begin('100')).id,
  async paid(desk) {
    const { id } = await desk.begin('100')
    desk.provider.pay(id)
    const { orderId, transactionId, amount, currency, digest, paidAtMs } = desk.provider.payment(id)
    const proof = { method: 'alipay', source: 'callback', actor: '', note: '' } as const
    await desk.store.pay.proveOrder({ ...proof, orderId, transactionId, amount, currency, digest, paidAtMs })
    return id
  },
  async credited(desk) {
    const { id } = await desk.begin('100')
    desk.provider.pay(id)
    await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
    return id
  },
  async expired(desk) {
    const { id } = await desk.begin('100')
    await desk.store.pay.endOrder(id, 'expired', null)
    return id
  },
  async failed(desk) {
    const { id } = await desk.begin('100')
    await desk.store.pay.endOrder(id, 'failed', null)
    return id
  },
  async refunded(desk) {
    const id = await TO.credited(desk)
    await desk.notices.take('alipay', { ...REFUND, orderId: id }, 'callback')
    return id
  },
  async reversed(desk) {
    const id = await TO.credited(desk)
    for (const state of ['open', 'lost'] as const)
      await desk.notices.take('alipay', { ...DISPUTE, orderId: id, state }, 'callback')
    return id
  },
}

const REFUND = { kind: 'refund', refundId: null, providerId: 're_1', amount: ALL, state: 'done' } as const
const DISPUTE = { kind: 'dispute', disputeId: 'dp_1', amount: ALL } as const

/** What is told of an order in each state, and what the account has when it has been taken. */
const TOLD: Record<OrderState, { tell(desk: Desk, id: string): Promise<unknown>; fen: number; state: OrderState }> = {
  created: { tell: paid, fen: ALL, state: 'credited' },
  pending: { tell: paid, fen: ALL, state: 'credited' },
  expired: { tell: paid, fen: ALL, state: 'credited' },
  failed: { tell: paid, fen: ALL, state: 'credited' },
  paid: { tell: paid, fen: ALL, state: 'credited' },
  credited: {
    tell: (desk, orderId) => desk.notices.take('alipay', { ...REFUND, orderId }, 'callback'),
    fen: 0,
    state: 'refunded',
  },
  refunded: {
    tell: (desk, orderId) => desk.notices.take('alipay', { ...REFUND, orderId, state: 'returned' }, 'callback'),
    fen: ALL,
    state: 'credited',
  },
  reversed: {
    tell: (desk, orderId) => desk.notices.take('alipay', { ...DISPUTE, orderId, state: 'lost' }, 'callback'),
    fen: 0,
    state: 'reversed',
  },
}

async function paid(desk: Desk, id: string): Promise<unknown> {
  // the payer needs what the provider shows
  if ((await desk.state(id)) === 'created') await desk.orders.look(desk.account, id, '')
  desk.provider.pay(id)
  return await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
}

async function agrees(t: Test, desk: Desk, id: string, state: OrderState, fen: number, what: string): Promise<void> {
  t.equal(await desk.state(id), state, what)
  t.equal(await desk.balance(), fen, what)
  t.equal((await desk.store.audit()).ok, true, what)
}

for (const how of ['absent', 'slow', 'wrong'] as const)
  t.test(
    `the store is ${how} when something is told of an order: it is not taken, comes again, and counts once`,
    async t => {
      for (const from of Object.keys(TOLD) as OrderState[]) {
        const desk = await openDesk(t)
        const id = await TO[from](desk)
        const before = await desk.balance()
        const mend = spoil(desk, how)
        if (from === 'created') await desk.begin('100').catch(ignore)
        const taken = await TOLD[from].tell(desk, id).catch(() => 'not taken')
        mend()
        if (how !== 'slow') {
          t.equal(taken, 'not taken', from)
          t.equal(await desk.balance(), before, from)
        }
        for (let i = 0; i < 3; i++) await TOLD[from].tell(desk, id)
        await rounds(desk)
        await agrees(t, desk, id, TOLD[from].state, TOLD[from].fen, from)
      }
    },
  )

t.test('a payer that never pays: every order ends, and the account has nothing', async t => {
  for (const from of ['created', 'pending', 'expired', 'failed'] as const) {
    const desk = await openDesk(t)
    const id = await TO[from](desk)
    await rounds(desk)
    await agrees(t, desk, id, from === 'failed' ? 'failed' : 'expired', 0, from)
  }
})

t.test('a payer that pays late is credited, and marked as late', async t => {
  for (const from of ['created', 'pending', 'expired', 'failed'] as const) {
    const desk = await openDesk(t)
    const id = await TO[from](desk)
    if (from === 'created') await desk.orders.look(desk.account, id, '')
    await rounds(desk)
    const payment = desk.provider.payment(id)
    t.equal(await desk.notices.take('alipay', payment, 'callback'), 'credited', from)
    await agrees(t, desk, id, 'credited', ALL, from)
  }
})

t.test(
  'a payer that pays another amount, or pays twice: a person is told, and the account has what was ordered at most',
  async t => {
    for (const from of ['pending', 'expired', 'failed', 'paid', 'credited', 'refunded', 'reversed'] as const) {
      const desk = await openDesk(t)
      const id = await TO[from](desk)
      const before = await desk.balance()
      const wrong = desk.provider.payment(id, { amount: 1, transactionId: 'another' })
      t.equal(await desk.notices.take('alipay', wrong, 'callback'), 'open', from)
      t.equal(await desk.balance(), before, from)
      t.equal((await desk.store.pay.exceptions({ open: true, limit: 9 })).length, 1, from)
    }
  },
)

t.test(
  'a provider that is absent: what it has said counts, what it has not said does not, and it is asked again',
  async t => {
    const rows: Record<OrderState, [fen: number, afterwards: number]> = {
      created: [0, ALL],
      pending: [0, ALL],
      expired: [0, ALL],
      failed: [0, ALL],
      paid: [ALL, ALL],
      credited: [ALL, ALL],
      refunded: [0, 0],
      reversed: [0, 0],
    }
    for (const [from, [fen, afterwards]] of Object.entries(rows) as [OrderState, [number, number]][]) {
      const desk = await openDesk(t)
      const id = await TO[from](desk)
      desk.provider.away = true
      await rounds(desk)
      t.equal(await desk.balance(), fen, from)
      desk.provider.away = false
      if (fen !== afterwards) await paid(desk, id).catch(ignore)
      await rounds(desk)
      // an order of which the provider never heard cannot be paid
      t.equal(await desk.balance(), desk.provider.trades.size === 0 ? 0 : afterwards, from)
      t.equal((await desk.store.audit()).ok, true)
    }
  },
)

t.test('a refund that the provider does not answer, or does not decide, stays frozen until it has', async t => {
  for (const how of ['absent', 'slow'] as const) {
    const desk = await openDesk(t)
    const id = await TO.credited(desk)
    desk.provider.away = how === 'absent'
    desk.provider.refundSaid = 'undecided'
    const refund = await desk.refunds.begin(id, '40', how, false, ACT)
    await rounds(desk)
    await agrees(t, desk, id, 'credited', 6_000, how)
    desk.provider.away = false
    await desk.notices.take(
      'alipay',
      { ...REFUND, refundId: refund.id, providerId: `pr-${refund.id}`, amount: 4_000, orderId: id },
      'callback',
    )
    await agrees(t, desk, id, 'credited', 6_000, how)
    t.match(await desk.store.pay.refund('alipay', refund.id), { state: 'done' })
  }
})
