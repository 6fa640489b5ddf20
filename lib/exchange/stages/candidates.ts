/** Finds the channels that may serve this exchange, and chooses the first one. The next ones are chosen as attempts fail. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/claim.ts'
import { Candidates } from '../../channels/pick.ts'
import type { Candidate } from '../../world/table.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'
import { canAsk, prepareLane } from '../record/translated-request.ts'
import { stage } from '../plan.ts'
import { refuse, type StageResult, DONE, NEXT, type Verdict } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

export const findCandidates = stage<'model' | 'maker', 'route'>((x, services) => {
  const { group } = (x.entry as KeyEntry).key
  if (!chooseCandidate(x, services)) return refuse(x, services, 'no_channel', [group, x.model])
  return judgeChoice(x, services)
})

function judgeChoice(x: Exchange, services: Services): StageResult {
  if (x.claim === null) return refuseAll(x, services)
  return prepareLane(x, services, x.claim.candidate)?.then(fits => goOn(x, services, fits)) ?? NEXT
}

/** The candidate was found to be fit or not, which took a moment. */
function goOn(x: Exchange, services: Services, fits: boolean): StageResult {
  if (x.left || x.finished) return DONE
  if (fits) return NEXT
  const candidates = x.candidates as Candidates
  candidates.isUnfit(x.claim as Claim)
  x.claim = candidates.next()
  return judgeChoice(x, services)
}

function refuseAll(x: Exchange, services: Services): Verdict {
  const { group } = (x.entry as KeyEntry).key
  const { whyNone, retryAfterS } = x.candidates as Candidates
  if (whyNone === 'unfit') return refuseUnfit(x, services)
  if (whyNone === 'saturated') return refuse(x, services, 'saturated', [], retryAfterS)
  return refuse(x, services, 'channels_resting', [group, x.model], retryAfterS)
}

/** False: no channel of the group has the model for the protocol. True and `x.claim` null: all such channels rest or are full. */
export function chooseCandidate(x: Exchange, services: Services): boolean {
  const { health } = services
  const { account, key } = x.entry as KeyEntry
  const route = x.world.routes.find(key.group, x.model, x.protocol as Protocol)
  if (route === undefined) return false
  const fitting = x.free ? counts(x) : route.translates ? fits(x, services) : null
  const asker = { account: account.id, only: x.maker, free: x.free, fits: fitting }
  x.candidates = new Candidates(route, health, affinityOf(x), Math.random, asker)
  x.claim = x.candidates.next()
  return true
}

const fits =
  (x: Exchange, services: Services) =>
  (candidate: Candidate): boolean =>
    canAsk(x, services, candidate)

/** Putting a body into an envelope takes some milliseconds for a few megabytes. The tokens of a longer one are estimated. */
const MOST_WRAPPED_BYTES = 4 * 1024 * 1024

/** Some kinds of provider count tokens at a path of their own, and not those of all models. */
const counts =
  (x: Exchange) =>
  ({ channel, upstreamModel }: Candidate): boolean => {
    const form = x.form as Protocol
    const own = channel.special[form]?.count
    if (own?.modelName === undefined) return true
    const fits = own.body.envelope === undefined || x.bodyBytes <= MOST_WRAPPED_BYTES
    return fits && form in channel.countPaths && own.modelName(upstreamModel) !== null
  }

/** All candidates translate, and none can be told what the request says. */
function refuseUnfit(x: Exchange, services: Services): Verdict {
  const why = x.lanes?.refused ?? 'memory'
  return why === 'memory' ? refuse(x, services, 'unavailable') : refuse(x, services, 'untranslatable', [why.field])
}

// --- affinity

const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'x-session-affinity', 'x-session-id'] as const

/**
 * Finds out which conversation a request belongs to. Requests of the same conversation prefer the same channel,
 * because that channel's upstream holds the conversation's prompt cache. The conversation is a number, made of what
 * clients send to name it; null = nothing names it, and any channel will do.
 */
export function affinityOf(x: Exchange): number | null {
  for (const name of SESSION_HEADERS) {
    const value = x.req.headers[name]
    if (typeof value === 'string' && value !== '') return hash(value)
  }
  const { facts } = x
  if (facts === null) return null
  const named = facts.promptCacheKey ?? facts.userId
  return named === null ? leadingHash(x) : hash(named)
}

/** The beginning of a long body stays the same from turn to turn, so it names the conversation. A short body is not worth it. */
const LEADING_BYTES = 2048
const LONG_BYTES = 16 * 1024

function leadingHash(x: Exchange): number | null {
  const first = x.body[0]
  if (x.bodyBytes < LONG_BYTES || first === undefined) return null
  return hashBytes(first, Math.min(first.length, LEADING_BYTES))
}

/** The hash FNV-1a, of 32 bits. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}

function hashBytes(bytes: Uint8Array, length: number): number {
  let h = 0x811c9dc5
  for (let i = 0; i < length; i++) h = Math.imul(h ^ (bytes[i] as number), 0x01000193)
  return h >>> 0
}
