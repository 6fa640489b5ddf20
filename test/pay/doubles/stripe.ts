/** The simulated Stripe of tests. */
import { Stripe, type StripeOptions } from '../../../tools/simulator/pay/stripe.ts'

export type { Fault, Foreign } from '../../../tools/simulator/pay/stripe.ts'

export class StripeDouble extends Stripe {
  static async open(t: { teardown(fn: () => unknown): void }, options: StripeOptions = {}): Promise<StripeDouble> {
    const double = new StripeDouble(options)
    await double.listen(t)
    return double
  }
}
