/** Makes the request that one candidate is sent: its path, its headers, and the body with the few edits that it needs. */
import type { Dispatcher } from 'undici'
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/health.ts'
import type { CompiledChannel } from '../../world/compiled-channel.ts'
import type { Candidate } from '../../world/table.ts'
import {
  type BodyRule,
  ruleEdits,
  wrapped,
  wrappedLength,
  askForUsage,
  optionsWithoutCost,
  type Edit,
  type Edited,
  editBody,
  mapRepeatedModels,
  elementEdits,
  memberEdits,
} from '../../protocols/requests/edits.ts'
import type { Facts } from '../../protocols/requests/facts.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import type { Protocol } from '../../protocols/names.ts'
import { protocolRow } from '../../protocols/table.ts'
import { HOPS, withHop } from '../../terms/hops.ts'
import type { Endpoint, Target } from '../../terms/target.ts'
import { envelopeCuts, mayHaveEnvelope, type StatePlace } from '../../translate/opaque.ts'
import type { TranslatedRequest } from '../../translate/ask.ts'
import { translatedRow } from '../../translate/table.ts'
import { requestHeaders, translatedHeaders } from '../../upstream/headers.ts'
import { BadRequest } from '../../upstream/attempt.ts'
import { takeMemory, passedQuery } from '../record/request.ts'
import type { Exchange } from '../record/exchange.ts'
import { translatedFor, leftOutAt, ruleOf, writtenFor } from '../record/translated-request.ts'
import type { Services } from '../record/services.ts'

/** Throws BadRequest when no request can be made. */
export function upstreamRequest(x: Exchange, services: Services, claim: Claim): Dispatcher.DispatchOptions {
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
