/**
 * A gateway whose clock was ahead of the store's closed every order at its first question about it, long before its time was over, so
 * that nobody could pay; and one whose clock was behind asked about every order that had ended every few seconds.
 */
import t from 'tap'
import { through } from '../pay/chaos/through.ts'
import { openDesk } from '../pay/support.ts'
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
