/**
 * The stages that find out who can answer: which model is asked for, who made the earlier answer that the request continues, and which
 * channels may serve it. The first channel is chosen here, the next ones as attempts fail. Then the relay asks them, or the tokens of the
 * request are counted.
 */
import { crc32 } from 'node:zlib'
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/health.ts'
import { Candidates } from '../../channels/pick.ts'
import { hashText } from '../../world/compiled-channel.ts'
import type { Candidate } from '../../world/table.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Exchange } from '../record/exchange.ts'
import { answerEstimate, countsNot } from '../relay/count-answer.ts'
import { Relay } from '../relay/relay.ts'
import { canAsk, prepareTranslation, whyNotWritten } from '../record/translated-request.ts'
import { stage } from '../plan.ts'
import { refuse, type StageResult, DONE, NEXT, type StageVerdict, storeFailed } from '../record/ending.ts'
import type { Services } from '../record/services.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import { modelsBehind } from '../record/need.ts'
import type { AnswerMaker } from '../../store/usage/queries.ts'

/** Finds out which model is asked for, in the path or in the body, and refuses one that the key may not use. */
export const chooseModel = stage<'key' | 'body' | 'confirmed', 'model'>((x, services) => {
  const facts = x.facts as Facts
  const ofPath = x.target?.model ?? null
  const isNamed = ofPath === null ? facts.modelIsString : sameModel(facts.model, ofPath)
  if (facts.modelSpan !== null && !isNamed) return refuse(x, services, 'field', ['model'])
  x.model = ofPath ?? facts.model ?? ''
  if (x.model === '') return refuse(x, services, 'no_model')
  const { models } = x.entry as KeyEntry
  if (models !== null && !models.has(x.model)) return refuse(x, services, 'model_restricted', [x.model])
  const other = models === null || x.free ? null : forbidden(x, models, facts.otherModels)
  if (other !== null) return refuse(x, services, 'model_restricted', [other])
  return NEXT
})

/**
 * The first model that the key may not use, of those with which an upstream would make a part of the answer; null = it may use all.
 * The body names them as the upstream does, or as we do, and each channel may have names of its own.
 */
function forbidden(x: Exchange, allowed: ReadonlySet<string>, others: readonly string[]): string | null {
  if (others.length === 0) return null
  const route = x.world.routes.find((x.entry as KeyEntry).key.group, x.model, x.protocol as Protocol)
  const serving = route?.tiers.flat().flatMap(({ channel }) => (channel.enabled ? [channel] : [])) ?? []
  const channels = serving.length === 0 ? [undefined] : serving
  for (const name of others)
    for (const channel of channels) {
      const model = modelsBehind(channel, name, x.model).find(one => !allowed.has(one))
      if (model !== undefined) return model
    }
  return null
}

/** Some clients repeat the model of the path in the body, and some upstreams may read it there. */
const sameModel = (ofBody: string | null, ofPath: string): boolean => ofBody === ofPath || ofBody === `models/${ofPath}`

// --- who made the earlier answer

/**
 * Finds out who made the earlier answer that a request continues. Only the account that got that answer may continue
 * it, and only the channel and the key that made it can. When that channel is switched off, gone, or of another
 * group, the client is told the same as when there was no such answer.
 */
export const findMaker = stage<'model', 'maker'>((x, services) => {
  const { previousAnswer } = x.facts as Facts
  if (previousAnswer === null) return NEXT
  const { key, account } = x.entry as KeyEntry
  // when no channel has the model at all, or it is offline, the next stage says so
  const route = x.world.routes.find(key.group, x.model, x.protocol as Protocol)
  if (route === undefined || route.tiers.length === 0) return NEXT
  // no other protocol can go on from an answer, which the next stage says, too
  if (!x.free && route.tiers.flat().every(({ translation }) => translation !== null)) return NEXT
  const found = services.answers.find(account.id, previousAnswer)
  return found instanceof Promise ? whenFound(x, services, found) : judgeMaker(x, services, found)
})

const whenFound = (x: Exchange, services: Services, found: Promise<AnswerMaker | null>): Promise<StageVerdict> =>
  found.then(
    maker => judgeMaker(x, services, maker),
    error => storeFailed(x, services, error),
  )

function judgeMaker(x: Exchange, services: Services, maker: AnswerMaker | null): StageVerdict {
  if (maker !== null && mayServe(x, maker)) {
    x.maker = maker
    return NEXT
  }
  // when no channel can be asked at all, that is said first
  if (!x.free && chooseCandidate(x, services) && x.claim === null) return refuseAll(x, services)
  return refuse(x, services, 'answer_unknown')
}

function mayServe(x: Exchange, maker: AnswerMaker): boolean {
  const { group } = (x.entry as KeyEntry).key
  const route = x.world.routes.find(group, x.model, x.protocol as Protocol)
  return (
    route?.tiers.some(tier =>
      tier.some(
        ({ channel }) =>
          channel.name === maker.channel && channel.enabled && channel.keys.some(key => key.fingerprint === maker.key),
      ),
    ) ?? false
  )
}

// --- the candidates

/** Finds the channels that may serve this exchange, and chooses the first one. */
export const findCandidates = stage<'model' | 'maker', 'route'>((x, services) => {
  const { group } = (x.entry as KeyEntry).key
  if (!chooseCandidate(x, services)) return refuse(x, services, 'no_channel', [group, x.model])
  return judgeChoice(x, services)
})

function judgeChoice(x: Exchange, services: Services): StageResult {
  if (x.claim === null) return refuseAll(x, services)
  const written = prepareTranslation(x, services, x.claim.candidate)
  return written === null ? NEXT : whenWritten(x, services, written)
}

const whenWritten = (x: Exchange, services: Services, written: Promise<boolean>): Promise<StageVerdict> =>
  written.then(fits => goOn(x, services, fits))

/** The candidate was found to be fit or not, which took a moment. */
function goOn(x: Exchange, services: Services, fits: boolean): StageResult {
  if (x.left || x.finished) return DONE
  if (fits) return NEXT
  const candidates = x.candidates as Candidates
  candidates.isUnfit(x.claim as Claim)
  x.claim = candidates.next()
  return judgeChoice(x, services)
}

function refuseAll(x: Exchange, services: Services): StageVerdict {
  const { group } = (x.entry as KeyEntry).key
  const { whyNone, retryAfterS } = x.candidates as Candidates
  if (whyNone === 'unfit') return refuseUnfit(x, services)
  if (whyNone === 'saturated') return refuse(x, services, 'saturated', [], retryAfterS)
  return refuse(x, services, 'channels_resting', [group, x.model], retryAfterS)
}

/** False: no channel of the group has the model for the protocol. True and `x.claim` null: all such channels rest or are full. */
function chooseCandidate(x: Exchange, services: Services): boolean {
  const { health } = services
  const { account, key } = x.entry as KeyEntry
  const route = x.world.routes.find(key.group, x.model, x.protocol as Protocol)
  if (route === undefined) return false
  const fitting = x.free
    ? counts(x)
    : isNativeOnly(x)
      ? speaks(x, services)
      : route.translates
        ? fits(x, services)
        : null
  const asker = { account: account.id, only: x.maker, free: x.free, isTrial: x.isTrial, fits: fitting }
  x.candidates = new Candidates(route, health, affinityOf(x), Math.random, asker)
  x.claim = x.candidates.next()
  return true
}

const fits =
  (x: Exchange, services: Services) =>
  (candidate: Candidate): boolean =>
    canAsk(x, services, candidate)

/** No other protocol can say what is asked in another form of its own, or at a path below it, as is the compaction of responses. */
const isNativeOnly = ({ form, protocol, target }: Exchange): boolean =>
  form !== protocol || target?.endpoint.suffix !== ''

const speaks =
  (x: Exchange, services: Services) =>
  (candidate: Candidate): boolean => {
    const { channel, translation, form } = candidate
    if (translation !== null) return false
    return form === null
      ? channel.forms.has(x.form as Protocol)
      : form.says === x.form && canAsk(x, services, candidate)
  }

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

/** All candidates translate or are asked in another form, and none can be told what the request says. */
function refuseUnfit(x: Exchange, services: Services): StageVerdict {
  const unsaid = isNativeOnly(x) ? { field: x.form === x.protocol ? 'input' : 'prompt' } : 'memory'
  const why = x.translations?.refused ?? whyNotWritten(x) ?? unsaid
  return why === 'memory' ? refuse(x, services, 'unavailable') : refuse(x, services, 'untranslatable', [why.field])
}

// --- affinity

const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'x-session-affinity', 'x-session-id'] as const

/**
 * Finds out which conversation a request belongs to. Requests of the same conversation prefer the same channel,
 * because that channel's upstream holds the conversation's prompt cache. The conversation is a number, made of what
 * clients send to name it; null = nothing names it, and any channel will do.
 */
function affinityOf(x: Exchange): number | null {
  for (const name of SESSION_HEADERS) {
    const value = x.req.headers[name]
    if (typeof value === 'string' && value !== '') return hashText(value)
  }
  const { facts } = x
  if (facts === null) return null
  const named = facts.promptCacheKey ?? facts.userId
  if (named !== null) return hashText(named)
  return x.bodyBytes < LONG_BYTES ? null : leadingHash(x)
}

/** The beginning of a long body stays the same from turn to turn, so it names the conversation. A short body is not worth it. */
const LEADING_BYTES = 2048
const LONG_BYTES = 16 * 1024

function leadingHash(x: Exchange): number | null {
  const first = x.body[0]
  if (first === undefined) return null
  return crc32(first.subarray(0, LEADING_BYTES))
}

// --- asking them

/** Hands the exchange to a relay, which asks the candidates and passes the answer on. */
export const dispatch = stage<'body' | 'model', never>((x, services) => {
  if (!x.left) new Relay(x, services).start()
  return DONE
})

/** Counts tokens: a channel is asked where one can count, else the answer is an estimate of ours. It is never refused for money. */
export const countLocally = stage<'model' | 'maker', 'route'>((x, services) => {
  if (x.body.length > 0 && someChannelCounts(x, services)) return NEXT // an empty body is one that was not kept
  answerEstimate(x, services)
  return DONE
})

function someChannelCounts(x: Exchange, services: Services): boolean {
  if (!chooseCandidate(x, services) || x.claim === null) return false
  return !countsNot(x.claim.candidate.channel, x.protocol as Protocol)
}
