/** Makes the request that one candidate is sent: its path, its headers, and the body with the few edits that it needs. */
import type { Dispatcher } from 'undici'
import type { KeyEntry } from '../../access/keys.ts'
import type { Claim } from '../../channels/claim.ts'
import type { Candidate, CompiledChannel } from '../../channels/table.ts'
import { askForUsage, type Edit, type Edited, editBody, mapRepeatedModels } from '../../protocols/edit.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Endpoint, Target } from '../../terms/target.ts'
import { requestHeaders } from '../../upstream/headers.ts'
import { BadRequest } from '../../upstream/http1-request.ts'
import type { Exchange } from '../exchange.ts'
import { passedQuery } from '../query.ts'

/** Throws BadRequest when no request can be made. */
export function upstreamRequest(x: Exchange, row: ProtocolRow, claim: Claim): Dispatcher.DispatchOptions {
  const { candidate } = claim
  try {
    const { chunks, length } = upstreamBody(x, row, candidate)
    const headers = requestHeaders(
      claim,
      x.form as Protocol,
      x.world.config.wire,
      x.req.headers,
      (x.entry as KeyEntry).account.id,
    )
    const single = chunks.length === 1
    if (!single) headers.push('content-length', String(length))
    return {
      origin: candidate.channel.connection.origin,
      method: 'POST',
      headersTimeout: 0,
      bodyTimeout: 0,
      path: upstreamPath(x, candidate),
      headers,
      // undici takes any iterable of buffers, which its types do not say
      body: (single ? chunks[0] : chunks) as Buffer,
    }
  } catch (cause) {
    throw new BadRequest('the request cannot be made', { cause })
  }
}

function upstreamBody(x: Exchange, row: ProtocolRow, candidate: Candidate): Edited {
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
  return edits
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
