/**
 * Finds out how the request of an exchange is said to an upstream of another protocol: it is read once, and written once for each
 * target. Another thread does both for a large body, where the choice of the candidate has to wait for it (`prepareTranslation`). Below
 * stands how it is said in another form of the client's own protocol.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { LARGE_BYTES, inSlices } from '../../base/slices.ts'
import { type BodyRule, RuleScan, membersLeftOut, ruleWithout } from '../../protocols/requests/edits.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Target as RequestTarget } from '../../terms/target.ts'
import type { Ask, AskHead, TranslatedRequest, TranslationTarget } from '../../translate/ask.ts'
import { type LossWord, Untranslatable } from '../../translate/events.ts'
import {
  FoundInBody,
  ManyValues,
  type NotTranslated,
  RequestTranslations,
  readRequest,
  shortBytes,
  translateRequest,
  translatedRow,
} from '../../translate/table.ts'
import { EnvelopeSearch } from '../../translate/opaque.ts'
import type { RequestJob, Result } from '../../translate/thread.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { Candidate, TranslationWay } from '../../world/table.ts'
import type { Exchange, WrittenInForm } from './exchange.ts'
import { takeMemory, wantsArray, wantsEvents } from './request.ts'
import type { Services } from './services.ts'
import { fieldsOf, parse } from '../../protocols/json/text.ts'
import type { OtherForm } from '../../protocols/protocol.ts'

const MOST_BYTES = 16 * 1024 * 1024
/** Translating a body of this size, or of so many values, takes some milliseconds, in which all other exchanges wait. */
const MOST_INLINE_BYTES = 512 * 1024
const MOST_INLINE_VALUES = 8192
/** The same of what is only moved: the long strings of a body of this size. */
const MOST_MOVED_BYTES = 4 * 1024 * 1024

const isNone = (made: TranslatedRequest | Ask | NotTranslated): made is NotTranslated =>
  made === 'memory' || 'field' in made

const translationsOf = (x: Exchange): RequestTranslations => (x.translations ??= new RequestTranslations(isHeavy(x)))

/** Long strings are mostly moved, and only checked. */
function isHeavy({ bodyBytes, facts }: Exchange): boolean {
  const { longStrings } = facts as Facts
  const isLong = bodyBytes > MOST_MOVED_BYTES || shortBytes(bodyBytes, longStrings) > MOST_INLINE_BYTES
  return bodyBytes <= MOST_BYTES && isLong
}

/** Throws `ManyValues`, and what is a fault of ours. */
function madeFor(x: Exchange, services: Services, candidate: TranslationWay): TranslatedRequest | NotTranslated {
  const translations = translationsOf(x)
  let made = translations.made.get(candidate.target)
  if (made === undefined) translations.made.set(candidate.target, (made = make(x, translations, services, candidate)))
  return made
}

function make(
  x: Exchange,
  translations: RequestTranslations,
  services: Services,
  { via, target }: TranslationWay,
): TranslatedRequest | NotTranslated {
  try {
    translations.ask ??= readAsk(x, translations, services)
    const { ask } = translations
    if (isNone(ask)) return ask
    const made = translateRequest(ask, via, target)
    return takes(x, services, made.bytes) ? made : 'memory'
  } catch (error) {
    if (error instanceof Untranslatable) return { field: error.field }
    throw error
  }
}

function readAsk(x: Exchange, translations: RequestTranslations, services: Services): Ask | NotTranslated {
  if (x.bodyBytes > MOST_BYTES) return { field: 'body' }
  if (!takesText(x, translations, services)) return 'memory'
  try {
    const head = { ...headOf(x), mostValues: MOST_INLINE_VALUES, mostBytes: MOST_INLINE_BYTES }
    return readRequest(x.protocol as Protocol, x.body, (x.facts as Facts).longStrings, head)
  } catch (error) {
    if (error instanceof Untranslatable) return { field: error.field } // of all targets, so that the body is read once
    throw error
  }
}

const headOf = (x: Exchange): AskHead => ({
  model: x.model,
  stream: wantsEvents(x) || wantsArray(x),
  searches: x.world.tariff((x.entry as KeyEntry).key.group, x.model)?.pricesSearches ?? false,
})

/** The body as one text takes as much memory as the body. */
function takesText(x: Exchange, translations: RequestTranslations, services: Services): boolean {
  translations.hasMemory ||= takes(x, services, x.bodyBytes)
  return translations.hasMemory
}

const takes = (x: Exchange, { buffered }: Services, bytes: number): boolean =>
  takeMemory(x, buffered, bytes, x.world.config.limits.bufferedBytes)

// --- in another thread

const isPending = ({ isHeavy, made, ask }: RequestTranslations, target: TranslationTarget): boolean =>
  isHeavy && !made.has(target) && (ask === null || !isNone(ask))

/**
 * Before a candidate is asked that was chosen for a large body. null = it can be asked at once. Otherwise it says later whether the
 * candidate can be asked at all; what is a fault of ours it throws. When the exchange ends before that, it says no.
 */
export function prepareTranslation(x: Exchange, services: Services, candidate: Candidate): Promise<boolean> | null {
  const { translation } = candidate
  if (translation === null || !isPending(translationsOf(x), translation.target)) return null
  return translateElsewhere(x, services, candidate, translation)
}

/** A function of its own, because V8 takes memory for what closures share as soon as the function is entered that makes them. */
function translateElsewhere(
  x: Exchange,
  services: Services,
  candidate: Candidate,
  translation: TranslationWay,
): Promise<boolean> {
  const translations = translationsOf(x)
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  if (!takesText(x, translations, services)) {
    translations.made.set(translation.target, 'memory')
    resolve(canAsk(x, services, candidate))
    return promise
  }
  const thread = services.translating.run(
    (x.entry as KeyEntry).account.id,
    'request',
    () => jobOf(x, translation),
    result => {
      translations.making = null
      if (result.what === 'fault') reject(new Error(`translation failed: ${result.message}`))
      else {
        const made = taken(x, services, translation.target, result)
        translations.made.set(translation.target, made)
        if (result.what === 'unfit' && !result.isRead) translations.ask = { field: result.field } // no other target has to be tried
        resolve(canAsk(x, services, candidate))
      }
    },
  )
  translations.making = {
    cancel() {
      thread.cancel()
      resolve(false)
    },
  }
  return promise
}

function jobOf(x: Exchange, { via, target }: TranslationWay): RequestJob {
  const bytes = Buffer.allocUnsafeSlow(x.bodyBytes) // never of memory that others share
  let at = 0
  for (const part of x.body) {
    bytes.set(part, at)
    at += part.length
  }
  const { longStrings } = x.facts as Facts
  return { what: 'request', bytes, longStrings, protocol: x.protocol as Protocol, head: headOf(x), via, target }
}

function taken(
  x: Exchange,
  services: Services,
  target: TranslationTarget,
  result: Result,
): TranslatedRequest | NotTranslated {
  if (result.what === 'unfit') return { field: result.field }
  if (result.what !== 'request') return 'memory' // the queue was full, or the thread died of the body
  const { body, ...rest } = result.written
  return takes(x, services, rest.bytes) ? { ...rest, target, body: [Buffer.from(body.buffer)] } : 'memory'
}

// --- whom it can be said to

/** The request as it is said to a candidate that was found to understand it when it was chosen. null = it speaks the client's protocol. */
export function translatedFor(x: Exchange, services: Services, { translation }: Candidate): TranslatedRequest | null {
  if (translation === null) return null
  const made = madeFor(x, services, translation)
  if (isNone(made)) throw new Error('a candidate was chosen that cannot be asked')
  return made
}

/** Whether the request can be said to a candidate. What another thread has to find out may be said, until it has (`prepareTranslation`). */
export function canAsk(x: Exchange, services: Services, candidate: Candidate): boolean {
  const { translation } = candidate
  if (translation === null) return canWrite(x, services, candidate)
  const translations = translationsOf(x)
  if (isPending(translations, translation.target)) return true
  try {
    return isFit(translations, madeFor(x, services, translation))
  } catch (error) {
    if (!(error instanceof ManyValues)) throw error
    translations.isHeavy = true
    return true
  }
}

function isFit(translations: RequestTranslations, made: TranslatedRequest | NotTranslated): boolean {
  const { named } = translations
  if (!isNone(made)) return named === null || [...made.losses].every(word => named.has(word))
  translations.refused ??= made
  return false
}

// --- what must be known of a large body

/**
 * What the kind of a candidate wants to be said differently in the body. In a large body it is searched for in slices (`prepareBody`),
 * because the whole would hold up all other exchanges; so is state of other upstreams.
 */
export function ruleOf(x: Exchange, { channel, translation }: Candidate): BodyRule | undefined {
  const special = channel.special[translation?.via ?? (x.form as Protocol)]
  const rule =
    (x.target as RequestTarget).endpoint.action === 'count' ? (special?.count?.body ?? special?.body) : special?.body
  return rule === undefined || translation !== null ? rule : ruleWithout(rule, leftOutAt(x, { channel }))
}

/** The members of the client's body that a channel is not sent. */
export const leftOutAt = (x: Exchange, { channel }: Pick<Candidate, 'channel'>): readonly string[] =>
  membersLeftOut(x.facts as Facts, channel.special[x.form as Protocol]?.readsUsage ?? false)

/** Resolves when all that an attempt's candidate needs is known; null = there is nothing to wait for. */
export function prepareBody(x: Exchange, services: Services, attempt: Attempt): Promise<void> | null {
  const made = translatedFor(x, services, attempt.claim.candidate)
  return (made?.bytes ?? x.bodyBytes) <= LARGE_BYTES ? null : searchBody(x, services, made, attempt)
}

function searchBody(
  x: Exchange,
  services: Services,
  made: TranslatedRequest | null,
  attempt: Attempt,
): Promise<void> | null {
  const found = (x.found ??= new FoundInBody())
  const rule = ruleOf(x, attempt.claim.candidate)
  const scan = rule === undefined || found.rules.get(made)?.has(rule) ? null : new RuleScan(rule)
  const mayHaveState = (x.facts as Facts).mayHaveState && translatedRow(x.protocol as Protocol) !== undefined
  const isSought = made === null && found.hasEnvelope === null && mayHaveState
  const search = isSought ? new EnvelopeSearch() : null
  if (scan === null && search === null) return null
  const take = (piece: Buffer): void => {
    scan?.feed(piece)
    search?.feed(piece)
  }
  return inSlices(services.clock, made?.body ?? x.body, take, () => attempt.over).then(isWhole => {
    if (!isWhole) return
    if (scan !== null) keep(found, made, rule as BodyRule, scan)
    if (search !== null) found.hasEnvelope = search.found
  })
}

function keep({ rules }: FoundInBody, made: TranslatedRequest | null, rule: BodyRule, scan: RuleScan): void {
  const ofBody = rules.get(made)
  if (ofBody === undefined) rules.set(made, new Map([[rule, scan]]))
  else ofBody.set(rule, scan)
}

// --- headers that tell of it. All words are of a fixed list: nothing that a client wrote gets into a header

const LONGEST = 512

/** `[name, value, …]` of an answer that was translated. `ofAnswer`: what it loses itself. */
export function translationHeaders(
  { via, losses }: TranslatedRequest,
  into: string[],
  ofAnswer?: ReadonlySet<LossWord>,
): void {
  into.push('x-gateway-via', via)
  dropped(ofAnswer === undefined ? losses : losses.union(ofAnswer), into)
}

/** In a head that goes out before any upstream has answered: what every translation loses that was looked at. */
export function nameLosses(translations: RequestTranslations, into: string[]): void {
  const losses = new Set<LossWord>()
  for (const made of translations.made.values())
    if (made !== 'memory' && 'losses' in made) for (const word of made.losses) losses.add(word)
  translations.named = losses
  dropped(losses, into)
}

/** In the head of an answer that is not translated: a search without a price was left out of the request. */
export function nameLeftOut({ facts }: Pick<Exchange, 'facts'>, into: string[]): void {
  if (facts !== null && facts.leftOut !== null) into.push('x-gateway-dropped', 'web_search')
}

function dropped(losses: ReadonlySet<LossWord>, into: string[]): void {
  if (losses.size > 0) into.push('x-gateway-dropped', [...losses].sort().join(',').slice(0, LONGEST))
}

// --- the form of a provider that does not speak the client's protocol to the letter (`OtherForm`), written once for each form

/** More than any provider takes in such a form, and parsed in a few milliseconds. */
const MOST_FORM_BYTES = 512 * 1024

type AskedInForm = Pick<Candidate, 'form' | 'upstreamModel'>

const isWritten = (made: WrittenInForm | NotTranslated): made is WrittenInForm => made !== 'memory' && 'body' in made

function formFor(x: Exchange, services: Services, form: OtherForm, model: string): WrittenInForm | NotTranslated {
  const forms = (x.otherForms ??= new Map())
  const name = `${form.path} ${model}`
  let made = forms.get(name)
  if (made === undefined) forms.set(name, (made = writeForm(x, services, form, model)))
  return made
}

function writeForm(x: Exchange, { buffered }: Services, form: OtherForm, model: string): WrittenInForm | NotTranslated {
  if (x.bodyBytes > MOST_FORM_BYTES) return { field: 'body' }
  const written = form.write(fieldsOf(parse(Buffer.concat(x.body).toString('latin1'))), model, x.form as Protocol)
  if (typeof written === 'string') return { field: written }
  const body = Buffer.from(JSON.stringify(written.body))
  const hasMemory = takeMemory(x, buffered, body.length, x.world.config.limits.bufferedBytes)
  return hasMemory ? { body, reader: written.reader } : 'memory'
}

const canWrite = (x: Exchange, services: Services, { form, upstreamModel }: AskedInForm): boolean =>
  form === null || isWritten(formFor(x, services, form, upstreamModel))

/** The request for a candidate that was found to be fit when it was chosen; null = it is asked in the client's protocol. */
export function writtenFor(
  x: Exchange,
  services: Services,
  { form, upstreamModel }: AskedInForm,
): WrittenInForm | null {
  if (form === null) return null
  const made = formFor(x, services, form, upstreamModel)
  if (!isWritten(made)) throw new Error('a candidate was chosen that cannot be asked')
  return made
}

/** Why the first candidate that is asked in such a form cannot be; null = there is none. */
export function whyNotWritten({ otherForms }: Pick<Exchange, 'otherForms'>): NotTranslated | null {
  for (const made of otherForms?.values() ?? []) if (!isWritten(made)) return made
  return null
}
