/**
 * Sends an attempt to its upstream. Before that its request is written for an upstream of another protocol, a large body is looked
 * through, what it may cost above what is held is held, and the request is signed where its channel has no plain key; each of these may
 * take a moment. What cannot be sent is an attempt that failed, of which its listener may hear before the call returns.
 */
import type { Dispatcher } from 'undici'
import { ZERO } from '../../base/money.ts'
import type { AnswersOf } from '../../catalog-file/upstreams.ts'
import type { Claim } from '../../channels/health.ts'
import type { Hold } from '../../ledger/ledger.ts'
import type { Protocol } from '../../protocols/names.ts'
import { readFailure } from '../../translate/failure.ts'
import { translated, translatedRow } from '../../translate/table.ts'
import { type Attempt, BadRequest } from '../../upstream/attempt.ts'
import type { OtherFormReading } from '../../upstream/pools.ts'
import type { Exchange, WrittenInForm } from '../record/exchange.ts'
import { fail, guard } from '../record/ending.ts'
import {
  leftOutAt,
  prepareBody,
  prepareTranslation,
  ruleOf,
  translatedFor,
  writtenFor,
} from '../record/translated-request.ts'
import { countMoneyWait, moneyLeftMs, moreFor } from '../record/need.ts'
import { passedQuery, takeMemory } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { NoMoney, Unfit } from './asking.ts'
import type { KeyEntry } from '../../access/keys.ts'
import type { CompiledChannel } from '../../world/compiled-channel.ts'
import type { Candidate } from '../../world/table.ts'
import {
  type BodyRule,
  type Edit,
  type Edited,
  askForUsage,
  editBody,
  elementEdits,
  mapRepeatedModels,
  memberEdits,
  optionsWithoutCost,
  ruleEdits,
  wrapped,
  wrappedLength,
} from '../../protocols/requests/edits.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import { protocolRow } from '../../protocols/table.ts'
import { HOPS, withHop } from '../../terms/hops.ts'
import type { Endpoint, Target } from '../../terms/target.ts'
import { type StatePlace, envelopeCuts, mayHaveEnvelope } from '../../translate/opaque.ts'
import type { TranslatedRequest } from '../../translate/ask.ts'
import { requestHeaders, translatedHeaders } from '../../upstream/headers.ts'

/** The request goes out at once where nothing is to be waited for, and never for an attempt that was closed meanwhile. */
export function send(x: Exchange, services: Services, attempt: Attempt): void {
  const written = prepareTranslation(x, services, attempt.claim.candidate)
  if (written === null) whenWritten(x, services, attempt)
  else when(x, services, attempt, written, sendFitting)
}

function sendFitting(x: Exchange, services: Services, attempt: Attempt, fits: boolean): void {
  if (fits) whenWritten(x, services, attempt)
  else attempt.onResponseError(null, new Unfit())
}

function whenWritten(x: Exchange, services: Services, attempt: Attempt): void {
  const read = prepareBody(x, services, attempt)
  if (read === null) whenRead(x, services, attempt)
  else when(x, services, attempt, read, whenRead)
}

function whenRead(x: Exchange, services: Services, attempt: Attempt): void {
  const { ledger } = services
  const more = moreFor(x, services, attempt.claim.candidate)
  if (more === ZERO || ledger.grow(x.hold as Hold, more)) {
    sendPrepared(x, services, attempt)
    return
  }
  const grown = ledger.growLater(x.hold as Hold, more, moneyLeftMs(x)).catch(() => false)
  when(x, services, attempt, countMoneyWait(x, services, grown), sendHeld)
}

function sendHeld(x: Exchange, services: Services, attempt: Attempt, isHeld: boolean): void {
  if (isHeld) sendPrepared(x, services, attempt)
  else attempt.onResponseError(null, new NoMoney())
}

/**
 * Goes on when something is ready, unless the attempt was closed meanwhile. Only here are there closures: V8 takes memory for what
 * they share as soon as the function is entered that makes them.
 */
function when<T>(
  x: Exchange,
  services: Services,
  attempt: Attempt,
  ready: Promise<T>,
  goOn: (x: Exchange, services: Services, attempt: Attempt, found: T) => void,
): void {
  ready.then(
    found =>
      guard(x, services, () => {
        if (!attempt.over) goOn(x, services, attempt, found)
      }),
    error => fail(x, services, error),
  )
}

/** Sends what needs no money and is written already. */
export function sendPrepared(x: Exchange, services: Services, attempt: Attempt): void {
  const { claim } = attempt
  try {
    const request = upstreamRequest(x, services, claim)
    const form = formOf(x, services, claim)
    if (claim.key.credential === null) services.pools.send(attempt, request, form, x.free)
    else sign(x, services, attempt, request, form)
  } catch (error) {
    attempt.onResponseError(null, error as Error)
  }
}

/** The form of the answer, by the protocol in which the candidate is asked, or by a form of its kind's own. */
function formOf(x: Exchange, services: Services, { candidate }: Claim): AnswersOf | OtherFormReading | null {
  const { channel, translation } = candidate
  const written = writtenFor(x, services, candidate)
  if (written === null) return channel.answers[translation?.via ?? (x.form as Protocol)] ?? null
  return otherFormOf(x, services, written)
}

function otherFormOf(x: Exchange, services: Services, written: WrittenInForm): OtherFormReading {
  return {
    reader: written.reader(),
    error: (status, body) =>
      Buffer.from(
        translated(ERRORS_AS[x.form as Protocol] ?? 'chat').writeError(readFailure(status, body)).body,
        'latin1',
      ),
    takes: bytes => takeMemory(x, services.buffered, bytes, x.world.config.limits.bufferedBytes),
  }
}

/** The protocols with which forms share their errors, of those whose upstreams answer in other forms; the others do with chat. */
const ERRORS_AS: Partial<Readonly<Record<Protocol, Protocol>>> = { nativeEmbeddings: 'generate' }

/** The request goes out at once, unless a token must be waited for. */
function sign(
  x: Exchange,
  services: Services,
  attempt: Attempt,
  request: Dispatcher.DispatchOptions,
  form: AnswersOf | OtherFormReading | null,
): void {
  const go = (signature: readonly string[]): void => {
    if (attempt.over) return // it was closed while the token was waited for
    attempt.signedWith(signature)
    const headers = [...(request.headers as string[]), ...signature]
    services.pools.send(attempt, { ...request, headers }, form, x.free)
  }
  const signature = services.signers.of(attempt.claim.key).sign(request)
  if (!(signature instanceof Promise)) go(signature)
  else signature.then(go).catch(error => guard(x, services, () => attempt.onResponseError(null, error as Error)))
}

// --- the request that one candidate is sent: its path, its headers, and the body with the few edits that it needs

/** Throws BadRequest when no request can be made. */
function upstreamRequest(x: Exchange, services: Services, claim: Claim): Dispatcher.DispatchOptions {
  const { candidate } = claim
  try {
    const translated = translatedFor(x, services, candidate)
    const headers = headersOf(x, claim, translated)
    if (candidate.channel.kind === null) headers.push(HOPS, withHop(x.req.headers[HOPS], x.world.instance))
    const { chunks, length } =
      translated === null
        ? upstreamBody(x, services, candidate, headers)
        : translatedBody(x, translated, candidate, headers)
    const single = chunks.length === 1
    if (!single) headers.push('content-length', String(length))
    return {
      origin: candidate.channel.connection.origin,
      method: 'POST',
      headersTimeout: 0,
      bodyTimeout: 0,
      path: translated === null ? upstreamPath(x, candidate) : translatedPath(candidate, translated),
      headers,
      // undici takes any iterable of buffers, which its types do not say
      body: (single ? chunks[0] : chunks) as Buffer,
    }
  } catch (cause) {
    throw new BadRequest('the request cannot be made', { cause })
  }
}

function headersOf(x: Exchange, claim: Claim, translated: TranslatedRequest | null): string[] {
  const { id } = (x.entry as KeyEntry).account
  if (translated !== null) {
    const headers = translatedHeaders(claim, translated.via, x.req.headers, id)
    if (claim.candidate.channel.special[translated.via]?.accept === undefined)
      headers.push('accept', translated.ask.stream ? 'text/event-stream' : 'application/json')
    return headers
  }
  return requestHeaders(claim, x.form as Protocol, x.world.config.wire, x.req.headers, id)
}

function translatedBody(
  x: Exchange,
  translated: TranslatedRequest,
  candidate: Candidate,
  headers: readonly string[],
): Edited {
  const { body, bytes } = translated
  const edits = editsByRule(x, translated, body, candidate, headers)
  return edits.length === 0 ? { chunks: body as Buffer[], length: bytes } : editBody(body, edits)
}

function editsByRule(
  x: Exchange,
  translated: TranslatedRequest | null,
  parts: readonly Buffer[],
  candidate: Candidate,
  headers: readonly string[],
): Edit[] {
  const rule = ruleOf(x, candidate)
  if (rule === undefined) return []
  return x.found?.rules.get(translated)?.get(rule)?.edits(headers) ?? ruleEdits(parts, rule, headers)
}

function upstreamBody(x: Exchange, services: Services, candidate: Candidate, headers: readonly string[]): Edited {
  const written = writtenFor(x, services, candidate)
  if (written !== null) return { chunks: [written.body], length: written.body.length }
  const row = protocolRow(x.form as Protocol)
  const rule = ruleOf(x, candidate)
  const edits = bodyEdits(x, row, candidate, rule?.leftOut ?? [])
  const facts = x.facts as Facts
  if (facts.leftOut !== null) edits.push(...elementEdits(facts))
  // the kind's rule leaves members out itself
  if (rule === undefined && (facts.leftOut !== null || facts.namesUsage))
    edits.push(...memberEdits(facts, leftOutAt(x, candidate)))
  for (const edit of editsByRule(x, null, x.body, candidate, headers)) edits.push(edit)
  const edited = edits.length === 0 ? { chunks: x.body, length: x.bodyBytes } : editBody(x.body, edits)
  return rule?.envelope === undefined ? edited : inEnvelope(x, services, edited, rule.envelope)
}

/** The body a second time takes memory as the first does. */
function inEnvelope(
  x: Exchange,
  { buffered }: Services,
  { chunks, length }: Edited,
  envelope: NonNullable<BodyRule['envelope']>,
): Edited {
  const bytes = wrappedLength(length, envelope)
  if (!takeMemory(x, buffered, bytes, x.world.config.limits.bufferedBytes))
    throw new Error('no memory for the body in its envelope')
  return { chunks: [wrapped(chunks, envelope)], length: bytes }
}

/**
 * The model gets the name that the upstream knows. Usage is asked for where the protocol does not report it unasked. Nothing is put into
 * members that are left out of the body.
 */
function bodyEdits(x: Exchange, row: ProtocolRow, candidate: Candidate, leftOut: readonly string[]): Edit[] {
  const facts = x.facts as Facts
  const edits: Edit[] = []
  const { upstreamModel } = candidate
  if (upstreamModel !== x.model && x.target?.model === null) {
    if (!leftOut.includes('model')) edits.push(row.body.mapModel(facts, upstreamModel, x.req.headers['content-type']))
  } else if (upstreamModel !== x.model) edits.push(...mapRepeatedModels(facts, upstreamModel))
  const asks = row.asksForUsage && facts.stream && !facts.includeUsage && !x.free
  if (leftOut.includes('stream_options')) {
    // the provider reports usage unasked
  } else if (facts.streamOptions?.namesCost) edits.push(optionsWithoutCost(x.body, facts.streamOptions, asks))
  else if (asks) edits.push(askForUsage(facts))
  const places = facts.mayHaveState ? translatedRow(x.protocol as Protocol)?.state : undefined
  return places === undefined || !(x.found?.hasEnvelope ?? mayHaveEnvelope(x.body))
    ? edits
    : [...edits, ...envelopeEdits(x, places, upstreamModel)]
}

/** State of other upstreams that a turn has which was answered by translation: this upstream would refuse it. */
function envelopeEdits(x: Exchange, places: readonly StatePlace[], model: string): Edit[] {
  const thinking = x.world.model(x.model)?.thinking ?? 'effort'
  const cuts = envelopeCuts(Buffer.concat(x.body).toString('latin1'), places, { model, thinking })
  return cuts.map(({ span, word }) => ({ span, bytes: Buffer.from(word) }))
}

/** What a protocol without a model in its path asks has one path. */
function translatedPath({ channel, upstreamModel }: Candidate, { via, ask }: TranslatedRequest): string {
  const verbs = channel.special[via]?.verbs ?? protocolRow(via).upstream.verbs
  const verb = verbs === undefined ? '' : ask.stream ? verbs.stream : verbs.document
  const path = filled(channel.paths[via], nameInPath(upstreamModel, channel, via), verb)
  const query = [ask.stream ? (verbs?.streamQuery ?? '') : '', channel.query].filter(part => part !== '').join('&')
  return query === '' ? path : `${path}?${query}`
}

function upstreamPath(x: Exchange, { channel, upstreamModel, form: otherForm }: Candidate): string {
  const { endpoint, model, rawModel, verb } = x.target as Target
  const form = endpoint.form as Protocol
  const isCount = endpoint.action === 'count'
  const query = upstreamQuery(x, channel)
  if (otherForm !== null)
    return filled(channel.basePath + otherForm.path, nameInPath(upstreamModel, channel, form), '') + query
  const path = (isCount ? channel.countPaths[form] : undefined) ?? pathOf(channel.paths[form], endpoint)
  if (!path.includes('{')) return path + query
  const asked = (isCount ? channel.special[form]?.count?.modelName?.(upstreamModel) : null) ?? upstreamModel
  // when the name is the same, it goes on as the client wrote it
  const name = asked === model ? rawModel : nameInPath(asked, channel, form)
  return filled(path, name, verb === '' ? verbAt(x, channel, form) : verb) + query
}

/** The verb of a kind whose path has one while the client's has none. */
function verbAt(x: Exchange, { special }: CompiledChannel, form: Protocol): string {
  const verbs = special[form]?.verbs
  if (verbs === undefined) return ''
  return (x.facts as Facts).stream ? verbs.stream : verbs.document
}

const filled = (path: string, name: string, verb: string): string =>
  path.replace(/\{(?:model|verb)\}/g, what => (what === '{verb}' ? verb : name))

/** Versions of models follow an `@` at some providers, which need not be escaped in a path. */
function nameInPath(model: string, { special }: CompiledChannel, form: Protocol): string {
  const steps = special[form]?.modelIsStep ? [model] : model.split('/')
  return steps.map(step => encodeURIComponent(step).replaceAll('%40', '@')).join('/')
}

/** The path of one endpoint of a protocol, at an upstream that has the protocol at `path`. */
const pathOf = (path: string, { lastStep, suffix }: Endpoint): string =>
  (lastStep === '' ? path : path.replace(/[^/]*$/, lastStep)) + suffix

/** The query of the channel replaces what the client says under the same name. */
function upstreamQuery(x: Exchange, { query, queryNames, special }: CompiledChannel): string {
  const kept = special[x.form as Protocol]?.takesNoQuery ? '' : passedQuery(x.query, x.form, queryNames)
  if (query === '') return kept
  return kept === '' ? `?${query}` : `${kept}&${query}`
}
