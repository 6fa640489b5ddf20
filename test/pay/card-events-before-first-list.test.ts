/**
 * The list of a provider's events is read from where it was read last. Until it was read once, there was no such place: each try that
 * failed, as where a permission is missing, began anew at that moment, and what got lost before it was never looked for.
 */
// The bug behind these rows: events of the days before the first list.
import t from 'tap'
import { type MissedEvent, ProviderRefuses } from '../../lib/pay/method.ts'
import { openDesk, TestProvider } from './support.ts'

const HOUR_MS = 3_600_000
const DAYS = 3

class ListingProvider extends TestProvider {
  readonly events: { atMs: number; event: MissedEvent }[] = []
  mayList = false

  async *missed(fromMs: number, untilMs: number): AsyncGenerator<MissedEvent> {
    if (!this.mayList) throw new ProviderRefuses('a permission is missing')
    for (const { atMs, event } of this.events) if (atMs >= fromMs && atMs < untilMs) yield event
  }
}

t.test('a message that got lost while the list could not be had is found later', async t => {
  const provider = new ListingProvider('card')
  const desk = await openDesk(t, { providers: [provider] })
  await desk.round()
  const { id } = await desk.begin('100')
  await desk.notices.take('card', provider.payment(id), 'callback')
  const dispute = { kind: 'dispute', disputeId: 'd', orderId: id, amount: 10_000, state: 'open' } as const
  provider.events.push({ atMs: desk.clock.now(), event: { eventId: 'evt_1', notices: async () => [dispute] } })
  for (let hours = 0; hours < DAYS * 24; hours++) {
    desk.clock.advance(HOUR_MS)
    await desk.round()
  }
  provider.mayList = true
  for (let rounds = 0; rounds < DAYS + 1; rounds++) {
    desk.clock.advance(HOUR_MS)
    await desk.round()
  }
  t.equal(await desk.balance(), 0, 'what is disputed is frozen')
})
