/**
 * A refund whose end was told while the answer to its request was on its way got a time at which to be asked about again,
 * and was asked about every minute from then on.
 */
// The bug behind these rows: a refund asked about for ever.
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { ENGINES } from './engines.ts'
import { ACT, openDesk } from './support.ts'

const YEAR_MS = 365 * 86_400_000

for (const [engine, address] of ENGINES)
  t.test(engine, async t => {
    const store = openStore(await address(t), { secret: 'a test secret' })
    t.teardown(() => store.close())
    await store.migrate()
    const account = await store.accounts.create({ name: 'payer', groups: [], sandbox: false }, ACT)
    const desk = await openDesk(t, { store, account })
    const { id } = await desk.begin('100')
    await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
    const { provider } = desk
    const send = provider.refund.bind(provider)
    provider.refund = async (refund, order, amount) => {
      const answer = await send(refund, order, amount)
      const notice = {
        kind: 'refund',
        refundId: refund.id,
        providerId: answer.providerId as string,
        orderId: id,
      } as const
      await desk.notices.take('alipay', { ...notice, amount, state: 'done' }, 'callback')
      return { ...answer, said: 'undecided' }
    }
    const refund = await desk.refunds.begin(id, '40', 'asked for', false, ACT)
    t.match(refund, { state: 'done', providerId: `pr-${refund.id}`, checkAtMs: null })
    t.same(await store.pay.takeDueRefunds(desk.clock.now() + YEAR_MS, 1, 9), [])
    await store.pay.refundSent('alipay', refund.id, null, 1)
    t.match(
      await store.pay.refund('alipay', refund.id),
      { providerId: `pr-${refund.id}`, checkAtMs: null },
      'nor later',
    )
    t.equal(await desk.balance(), 6_000)
  })
