/** Makes the request that one candidate is sent: its path, its headers, and the body with the few edits that it needs. */
import type { Dispatcher } from 'undici'
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/claim.ts'
import type { Candidate, CompiledChannel } from '../../channels/table.ts'
import { askForUsage, type Edit, type Edited, editBody, mapRepeatedModels } from '../../protocols/edit.ts'
import type { Facts } from '../../protocols/facts.ts'
import { bytesAsText } from '../../protocols/patterns.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import { protocolRow } from '../../protocols/table.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Endpoint, Target } from '../../terms/target.ts'
import { envelopeSpans, mayHaveEnvelope, type StatePlace } from '../../translate/envelopes.ts'
import { translatedRow } from '../../translate/table.ts'
import { requestHeaders, translatedHeaders } from '../../upstream/headers.ts'
import { BadRequest } from '../../upstream/http1-request.ts'
import type { Exchange } from '../exchange.ts'
import type { Lane } from '../../translate/lane.ts'
import { laneOf } from '../lanes.ts'
import { passedQuery } from '../query.ts'
import type { Services } from '../services.ts'

const NOTHING = Buffer.alloc(0)

/** Throws BadRequest when no request can be made. */
export function upstreamRequest(x: Exchange, services: Services, claim: Claim): Dispatcher.DispatchOptions {
  const { candidate } = claim
  try {
    const lane = laneOf(x, services, candidate)
    const { chunks, length } = lane === null ? upstreamBody(x, candidate) : whole(lane.body)
    const headers = headersOf(x, claim, lane)
    const single = chunks.length === 1
    if (!single) headers.push('content-length', String(length))
    return {
      origin: candidate.channel.connection.origin,
      method: 'POST',
      headersTimeout: 0,
      bodyTimeout: 0,
      path: lane === null ? upstreamPath(x, candidate) : translatedPath(candidate, lane),
      headers,
      // undici takes any iterable of buffers, which its types do not say
      body: (single ? chunks[0] : chunks) as Buffer,
    }
  } catch (cause) {
    throw new BadRequest('the request cannot be made', { cause })
  }
}

function headersOf(x: Exchange, claim: Claim, lane: Lane | null): string[] {
  const { id } = (x.entry as KeyEntry).account
  if (lane !== null) {
    const headers = translatedHeaders(claim, lane.via, x.req.headers, id)
    headers.push('accept', lane.ask.stream ? 'text/event-stream' : 'application/json')
    return headers
  }
  return requestHeaders(claim, x.form as Protocol, x.world.config.wire, x.req.headers, id)
}

const whole = (body: Buffer): Edited => ({ chunks: [body], length: body.length })

function upstreamBody(x: Exchange, candidate: Candidate): Edited {
  const row = protocolRow(x.form as Protocol)
  const edits = bodyEdits(x, row, candidate)
  return edits.length === 0 ? { chunks: x.body, length: x.bodyBytes } : editBody(x.body, edits)
}

/** The model gets the name that the upstream knows. Usage is asked for where the protocol does not report it unasked. */
function bodyEdits(x: Exchange, row: ProtocolRow, candidate: Candidate): Edit[] {
  const facts = x.facts as Facts
  const edits: Edit[] = []
  const { upstreamModel } = candidate
  if (upstreamModel !== x.model && x.target?.model === null)
    edits.push(row.body.mapModel(facts, upstreamModel, x.req.headers['content-type']))
  else if (upstreamModel !== x.model) edits.push(...mapRepeatedModels(facts, upstreamModel))
  if (row.asksForUsage && facts.stream && !facts.includeUsage && !x.free) edits.push(askForUsage(facts))
  const places = translatedRow(x.protocol as Protocol)?.state
  if (places !== undefined && mayHaveEnvelope(x.body)) edits.push(...envelopeEdits(x, places))
  return edits
}

/** State of other upstreams that a turn has which was answered by translation: this upstream would refuse it. */
const envelopeEdits = (x: Exchange, places: readonly StatePlace[]): Edit[] =>
  envelopeSpans(bytesAsText(Buffer.concat(x.body)), places).map(span => ({ span, bytes: NOTHING }))

/** What a protocol without a model in its path asks has one path. */
function translatedPath({ channel, upstreamModel }: Candidate, { via, ask }: Lane): string {
  const { verbs } = protocolRow(via).upstream
  const verb = verbs === undefined ? '' : ask.stream ? verbs.stream : verbs.document
  const name = upstreamModel.split('/').map(encodeURIComponent).join('/')
  const path = channel.paths[via].replace(/\{(?:model|verb)\}/g, what => (what === '{verb}' ? verb : name))
  const query = [ask.stream ? (verbs?.streamQuery ?? '') : '', channel.query].filter(part => part !== '').join('&')
  return query === '' ? path : `${path}?${query}`
}

function upstreamPath(x: Exchange, { channel, upstreamModel }: Candidate): string {
  const { endpoint, model, rawModel, verb } = x.target as Target
  const query = upstreamQuery(x, channel)
  const path = pathOf(channel.paths[endpoint.form as Protocol], endpoint)
  if (!path.includes('{')) return path + query
  // when the name is the same, it goes on as the client wrote it
  const name = upstreamModel === model ? rawModel : upstreamModel.split('/').map(encodeURIComponent).join('/')
  return path.replace(/\{(?:model|verb)\}/g, what => (what === '{verb}' ? verb : name)) + query
}

/** The path of one endpoint of a protocol, at an upstream that has the protocol at `path`. */
const pathOf = (path: string, { lastStep, suffix }: Endpoint): string =>
  (lastStep === '' ? path : path.replace(/[^/]*$/, lastStep)) + suffix

/** The query of the channel replaces what the client says under the same name. */
function upstreamQuery(x: Exchange, { query, queryNames }: CompiledChannel): string {
  const kept = passedQuery(x.query, x.form, queryNames)
  if (query === '') return kept
  return kept === '' ? `?${query}` : `${kept}&${query}`
}
