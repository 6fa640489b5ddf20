/** What goes to one candidate: the path, and the few edits in place that the body needs for it. */
import type { Candidate, CompiledChannel } from '../channels/table.ts'
import { askForUsage, type Edit, type Edited, editBody, mapModel } from '../protocols/edit.ts'
import type { Facts } from '../protocols/facts.ts'
import type { ProtocolRow } from '../protocols/protocol.ts'
import type { Protocol } from '../terms/records.ts'
import type { Exchange } from './exchange.ts'
import { queryWithoutKey, type Target } from './paths.ts'

export function upstreamBody(x: Exchange, row: ProtocolRow, candidate: Candidate): Edited {
  const edits = bodyEdits(x, row, candidate)
  return edits.length === 0 ? { chunks: x.body, length: x.bodyBytes } : editBody(x.body, edits)
}

/** The model under its upstream name, and usage asked for where the protocol reports none unasked. */
function bodyEdits(x: Exchange, row: ProtocolRow, candidate: Candidate): Edit[] {
  const facts = x.facts as Facts
  const edits: Edit[] = []
  if (candidate.upstreamModel !== x.model && x.target?.model === null)
    edits.push(mapModel(facts, candidate.upstreamModel))
  if (row.asksForUsage && facts.stream && !facts.includeUsage && !x.free) edits.push(askForUsage(facts))
  return edits
}

export function upstreamPath(x: Exchange, { channel, upstreamModel }: Candidate): string {
  const { endpoint, model, rawModel, verb } = x.target as Target
  const template = channel.paths[endpoint.protocol as Protocol]
  const query = upstreamQuery(x.query, channel)
  if (!template.includes('{')) return template + endpoint.suffix + query
  // the same name goes on as the client wrote it
  const name = upstreamModel === model ? rawModel : upstreamModel.split('/').map(encodeURIComponent).join('/')
  return template.replace(/\{(?:model|verb)\}/g, what => (what === '{verb}' ? verb : name)) + endpoint.suffix + query
}

/** What the channel adds goes before what the client says under the same name. */
function upstreamQuery(asked: string, { query, queryNames }: CompiledChannel): string {
  if (query === '') return queryWithoutKey(asked)
  const kept = queryWithoutKey(asked, queryNames)
  return kept === '' ? `?${query}` : `${kept}&${query}`
}
