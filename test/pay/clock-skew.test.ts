/**
 * A gateway whose clock was ahead of the store's closed every order at its first question about it, long before its time was over, so
 * that nobody could pay; and one whose clock was behind asked about every order that had ended every few seconds. One that was ahead
 * sent a payment back that the provider had warned of only hours later, when it may have been disputed already.
 */
// The bug behind these rows: a gateway whose clock is ahead.
import t from 'tap'
import { through } from './chaos/through.ts'
import { openDesk } from './support.ts'
import { memoryStore } from '../support/store.ts'

const MINUTE_MS = 60_000
const AHEAD_MS = 120 * MINUTE_MS

for (const aheadMs of [AHEAD_MS, -AHEAD_MS])
  t.test(`${aheadMs / MINUTE_MS} minutes`, async t => {
    let nowMs = Date.now()
    const real = await memoryStore()
    t.teardown(() => real.close())
    const store = through(real, async work => work(), { now: async () => nowMs })
    const desk = await openDesk(t, { store })
    desk.clock.step(aheadMs)
    const { id, expiresAtMs } = await desk.begin('100')
    const pass = async (untilMs: number) => {
      for (; nowMs < untilMs; nowMs += MINUTE_MS) await desk.round()
    }
    await pass(expiresAtMs - 2 * MINUTE_MS)
    t.equal(await desk.state(id), 'pending')
    t.equal(desk.provider.trades.get(id)?.state, 'open')
    await pass(expiresAtMs + 100 * MINUTE_MS)
    t.equal(await desk.state(id), 'expired')
    t.ok(desk.provider.asked < 12, `asked ${desk.provider.asked} times`)
  })

t.test('a payment that the provider warns of is sent back in the next round', async t => {
  const nowMs = Date.now()
  const real = await memoryStore()
  t.teardown(() => real.close())
  const desk = await openDesk(t, { store: through(real, async work => work(), { now: async () => nowMs }) })
  desk.clock.step(AHEAD_MS)
  const { id } = await desk.begin('100')
  await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
  const warning = { kind: 'warning', orderId: id, reference: 'issfr', detail: 'a stolen card', refund: true } as const
  await desk.notices.take('alipay', warning, 'callback')
  await desk.round()
  t.equal(await desk.state(id), 'refunded')
})
