/** What the calls of the console are given: what operations on people are, which is more than others need, and the catalogue. */
import type { DryRun } from '../../operations/usage/key-test.ts'
import type { PeopleDeps } from '../../operations/people/deps.ts'
import type { PublicCatalogue } from '../../operations/catalogue/public-catalogue.ts'
import type { PaymentService } from '../../pay/service.ts'

export interface ConsoleDeps extends PeopleDeps {
  /** One for the whole process, because it keeps what many people ask for. */
  catalogue: PublicCatalogue
  /** Tries out a key in this process, without asking an upstream. */
  dryRun: DryRun
  /** Orders and the ways to pay. */
  pay: () => Promise<PaymentService>
}
