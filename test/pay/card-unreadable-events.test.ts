/**
 * An event that the provider refuses to explain, as where a permission of the key is missing, was passed over: the list was read on,
 * and nobody was told of a dispute that was in it.
 */
// The bug behind these rows: events that could not be read.
import t from 'tap'
import { type MissedEvent, type Notice, ProviderRefuses } from '../../lib/pay/method.ts'
import { openDesk, TestProvider } from './support.ts'

const HOUR_MS = 3_600_000

class ListingProvider extends TestProvider {
  refuses = true
  notices: Notice[] = []

  async *missed(): AsyncGenerator<MissedEvent> {
    yield {
      eventId: 'evt_1',
      notices: async () => {
        if (this.refuses) throw new ProviderRefuses('the key may not read disputes')
        return this.notices
      },
    }
  }
}

t.test('a person is told, once, and the event is taken when it can be', async t => {
  const provider = new ListingProvider('card')
  const desk = await openDesk(t, { providers: [provider] })
  const { id } = await desk.begin('100')
  await desk.notices.take('card', provider.payment(id), 'callback')
  provider.notices = [{ kind: 'dispute', disputeId: 'd', orderId: id, amount: 10_000, state: 'open' }]
  for (let i = 0; i < 3; i++) {
    desk.clock.advance(HOUR_MS)
    await desk.round()
  }
  t.match(await desk.store.pay.exceptions({ limit: 9 }), [
    { kind: 'fraud_warning', reference: 'evt_1', detail: /may not read disputes/ },
  ])
  provider.refuses = false
  desk.clock.advance(HOUR_MS)
  await desk.round()
  t.equal(await desk.balance(), 0)
})
