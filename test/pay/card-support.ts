/** A shop that takes cards, beside Stripe's double. */
import type { Test } from 'tap'
import { TestClock } from '../support/clock.ts'
import { StripeDouble } from './doubles/stripe.ts'
import type { Json } from '../../tools/simulator/pay/stripe-ledger.ts'
import { openShop, type Shop } from './shop.ts'

export interface Card extends Shop {
  stripe: StripeDouble
  hook: string
  /** An order whose page the payer has been shown. */
  open(amount?: string): Promise<{ id: string; session: string }>
  /** An order that is paid and credited. */
  paid(amount?: string): Promise<{ id: string; session: string }>
  send(event: Json): Promise<number>
}

export async function openCard(t: Test, section: Json = {}, given: Json = {}): Promise<Card> {
  const clock = given.clock ?? new TestClock(Date.now())
  const stripe: StripeDouble = given.stripe ?? (await StripeDouble.open(t, { now: () => clock.now() }))
  const shop = await openShop(t, { card: stripe.section(section) }, { ...given, clock })
  const hook = `${shop.url}/pay/card`
  const send = (event: Json) => stripe.send(hook, event)
  const open = async (amount = '100') => {
    const order = await shop.begin(amount)
    return { id: order.id, session: order.providerId as string }
  }
  const paid = async (amount = '100') => {
    const order = await open(amount)
    t.equal(await send(stripe.ledger.pay(order.session)), 200)
    return order
  }
  return { ...shop, stripe, hook, open, paid, send }
}
