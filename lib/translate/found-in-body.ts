/** What was found in a large body before it went to an upstream (`lib/exchange/record/translated-request.ts`). It is data, like the record of the exchange. */
import type { BodyRule, RuleScan } from '../protocols/body-rule.ts'
import type { Lane } from './lane.ts'

export class FoundInBody {
  /** By the body, which is the client's own for `null`. */
  readonly rules = new Map<Lane | null, Map<BodyRule, RuleScan>>()
  /** null = it was not looked for. */
  hasEnvelope: boolean | null = null
}
