/**
 * Whoever looked at their old orders one after the other made the gateway ask the provider about each, a thousand times a
 * minute, until the provider answered nobody's questions any more.
 */
// The bug behind these rows: questions by looking.
import t from 'tap'
import { openDesk } from './support.ts'

const LOOKS = 1_000
const MINUTE_MS = 60_000

t.test('looking at many orders asks the provider twice a second at most', async t => {
  const desk = await openDesk(t)
  const ids: string[] = []
  for (let i = 0; i < 20; i++) {
    const { id } = await desk.begin('5')
    await desk.store.pay.endOrder(id, 'expired', null)
    ids.push(id)
  }
  for (let i = 0; i < LOOKS; i++) {
    await desk.orders.look(desk.account, ids[i % ids.length] as string, '')
    desk.clock.advance(MINUTE_MS / LOOKS)
  }
  t.ok(desk.provider.asked <= 120, `${desk.provider.asked} questions`)
  t.ok(desk.provider.asked >= 100, 'each order in its turn all the same')
})
