/**
 * The money of a refund stays frozen until the provider says what became of it. Where nobody could be asked for days, because the
 * provider was away, or because its way to pay is not in the config any more, no person was ever told.
 */
// The bug behind these rows: a refund that nobody can be asked about.
import t from 'tap'
import { ACT, type Desk, openDesk } from './support.ts'

const DAYS_MS = 4 * 86_400_000
const GONE: Record<string, (t: Parameters<typeof openDesk>[0], desk: Desk) => Promise<Desk>> = {
  'the provider is away': async (_, desk) => {
    desk.provider.away = true
    return desk
  },
  'its way to pay is not in the config': (t, { store, account }) => openDesk(t, { store, account, providers: [] }),
}

for (const [name, without] of Object.entries(GONE))
  t.test(name, async t => {
    const desk = await openDesk(t)
    const { id } = await desk.begin('100')
    await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
    desk.provider.refundSaid = 'undecided'
    const refund = await desk.refunds.begin(id, '60', 'asked for', false, ACT)
    const later = await without(t, desk)
    await later.round()
    t.same(await desk.store.pay.exceptions({ limit: 9 }), [])
    later.clock.advance(DAYS_MS)
    await later.round()
    t.match(await desk.store.pay.exceptions({ limit: 9 }), [{ kind: 'refund_stuck', reference: refund.id }])
    t.equal((await desk.store.pay.refund('alipay', refund.id))?.state, 'frozen')
  })
