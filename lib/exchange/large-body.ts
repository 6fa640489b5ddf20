/**
 * What must be known of a large body before it goes to an upstream: where in it something stands that a kind of provider wants said
 * otherwise, and whether it has state of other upstreams. It is found out in slices, because the whole would hold up all other exchanges.
 */
import { inSlices, LARGE_BYTES } from '../base/slices.ts'
import type { Candidate } from '../channels/route.ts'
import { type BodyRule, RuleScan, ruleWithout } from '../protocols/body-rule.ts'
import type { Facts } from '../protocols/facts.ts'
import { membersLeftOut } from '../protocols/leave-out.ts'
import type { Protocol } from '../terms/records.ts'
import type { Target } from '../terms/target.ts'
import { EnvelopeSearch } from '../translate/envelopes.ts'
import { FoundInBody } from '../translate/found-in-body.ts'
import type { Lane } from '../translate/lane.ts'
import { translatedRow } from '../translate/table.ts'
import type { Exchange } from './exchange.ts'
import { laneOf } from './lanes.ts'
import type { Services } from './services.ts'

/** What the kind of a candidate wants to be said differently in the body. */
export function ruleOf(x: Exchange, { channel, lane }: Candidate): BodyRule | undefined {
  const special = channel.special[lane?.via ?? (x.form as Protocol)]
  const rule =
    (x.target as Target).endpoint.action === 'count' ? (special?.count?.body ?? special?.body) : special?.body
  return rule === undefined || lane !== null ? rule : ruleWithout(rule, membersLeftOut(x.facts as Facts))
}

/** Resolves when all that a candidate needs is known; null = there is nothing to wait for. `isOver`: nobody waits for it any more. */
export function prepareBody(
  x: Exchange,
  services: Services,
  candidate: Candidate,
  isOver: () => boolean,
): Promise<void> | null {
  const lane = laneOf(x, services, candidate)
  const parts = lane === null ? x.body : [lane.body]
  if ((lane === null ? x.bodyBytes : lane.body.length) <= LARGE_BYTES) return null
  const found = (x.found ??= new FoundInBody())
  const rule = ruleOf(x, candidate)
  const scan = rule === undefined || found.rules.get(lane)?.has(rule) ? null : new RuleScan(rule)
  const isSought = lane === null && found.hasEnvelope === null && translatedRow(x.protocol as Protocol) !== undefined
  const search = isSought ? new EnvelopeSearch() : null
  if (scan === null && search === null) return null
  const take = (piece: Buffer): void => {
    scan?.feed(piece)
    search?.feed(piece)
  }
  return inSlices(services.clock, parts, take, isOver).then(isWhole => {
    if (!isWhole) return
    if (scan !== null) keep(found, lane, rule as BodyRule, scan)
    if (search !== null) found.hasEnvelope = search.found
  })
}

function keep({ rules }: FoundInBody, lane: Lane | null, rule: BodyRule, scan: RuleScan): void {
  const ofBody = rules.get(lane)
  if (ofBody === undefined) rules.set(lane, new Map([[rule, scan]]))
  else ofBody.set(rule, scan)
}
