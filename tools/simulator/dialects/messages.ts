/**
 * The simulator's messages protocol: named events, usage at the start and again at the end, caching where it is marked.
 */
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import type { Usage } from '../../../lib/protocols/words/usage.ts'
import type { Block } from '../prompt-cache.ts'
import {
  stringOf,
  countOf,
  need,
  promptOf,
  rowsOf,
  toolAskedFor,
  type Answer,
  type Ask,
  type Dialect,
  type Fields,
  type Frame,
  frame,
  groups,
} from '../dialect.ts'
import { asksToSearch, citationBlock, searchBlocks } from '../search.ts'
import { bearer, fixedPaths, PLAIN } from './plain.ts'

const FINISH = { stop: 'end_turn', length: 'max_tokens', call: 'tool_use' }
const ERRORS: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}
/** Tokens of an event, which are more than in other protocols. */
const CHUNK = 3

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

export const messages: Dialect = {
  ...PLAIN,
  route: fixedPaths({ '/v1/messages': 'answer', '/v1/messages/count_tokens': 'count' }),
  credential: (header, url) => header('x-api-key') ?? bearer(header, url),
  keepsWhenAsked: true,
  chunk: CHUNK,
  read(body) {
    const rows = rowsOf(body['messages'])
    need(rows.length > 0, 'messages: Field required')
    const tools = rowsOf(body['tools'])
    const offered = tools.map(tool => ({ name: stringOf(tool['name']), schema: tool['input_schema'] }))
    const thinking = fieldsOf(body['thinking'])['type']
    return {
      model: stringOf(body['model']),
      stream: body['stream'] === true,
      body,
      prompt: promptOf(rows, row => row['content']),
      blocks: blocksOf(body, tools, rows),
      maxTokens: countOf(body['max_tokens']),
      choices: 1,
      thinks: thinking === 'enabled' || thinking === 'adaptive',
      tool: toolAskedFor(rows.at(-1), rows.at(-1)?.['content'], offered),
      offered,
      searches: asksToSearch(body),
      option: false,
    }
  },
  whole: (ask, answer) => message(ask, answer, contentOf(answer), FINISH[answer.finish], answer.usage),
  *frames(ask, answer) {
    const { usage, reports } = answer
    const begun = { ...usage, output: Math.min(1, usage.output) }
    const start = message(ask, answer, [], null, begun)
    yield frame(event('message_start', { message: start }), 0, reports ? begun : null)
    let index = 0
    if (answer.thinking.length > 0) yield* thinkingBlock(answer, index++)
    for (const block of searched(answer)) yield* wholeBlock(block, index++)
    yield* answer.call === null ? textBlock(answer, index) : callBlock(answer, index)
    const end = { delta: { stop_reason: FINISH[answer.finish], stop_sequence: null } }
    yield frame(event('message_delta', reports ? { ...end, usage: finalUsage(usage) } : end), 0, reports ? usage : null)
    yield frame(event('message_stop', {}))
  },
  count: tokens => ({ input_tokens: tokens }),
  error: (status, message, id) => ({
    type: 'error',
    error: { type: ERRORS[status] ?? 'api_error', message },
    request_id: id,
  }),
  errorFrame: () => event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
  headers: id => ({ 'request-id': id, 'anthropic-ratelimit-requests-remaining': '999' }),
}

/** The pieces of the prompt in the order in which prefixes are made: tools, system, messages. */
function blocksOf(body: Fields, tools: Fields[], rows: Fields[]): Block[] {
  const system = body['system']
  const parts = [...tools, ...(typeof system === 'string' ? [{ text: system }] : rowsOf(system))]
  for (const { role, content } of rows) {
    if (typeof content === 'string') parts.push({ role, text: content })
    else parts.push(...rowsOf(content).map(part => ({ role, ...part })))
  }
  const blocks = parts.map(({ cache_control, ...part }: Fields) => ({
    text: JSON.stringify(part),
    keep: keepOf(cache_control),
  }))
  const last = blocks.at(-1)
  if (last !== undefined) last.keep ??= keepOf(body['cache_control'])
  return blocks
}

function keepOf(control: unknown): '5m' | '1h' | null {
  const { type, ttl } = fieldsOf(control)
  if (type !== 'ephemeral') return null
  return ttl === '1h' ? '1h' : '5m'
}

const inputOf = (usage: Usage) => ({
  input_tokens: usage.input,
  cache_creation_input_tokens: usage.cache_write_5m + usage.cache_write_1h,
  cache_read_input_tokens: usage.cache_read,
})

const finalUsage = (usage: Usage) => ({ ...inputOf(usage), output_tokens: usage.output, ...searchesOf(usage) })

const searchesOf = ({ searches }: Usage) => (searches > 0 ? { server_tool_use: { web_search_requests: searches } } : {})

const searched = ({ search, id }: Answer): Fields[] => (search === null ? [] : searchBlocks(search, id))

function message(ask: Ask, answer: Answer, content: object[], reason: string | null, usage: Usage) {
  return {
    id: `msg_${answer.id}`,
    type: 'message',
    role: 'assistant',
    model: ask.model,
    content,
    stop_reason: reason,
    stop_sequence: null,
    ...(answer.reports ? { usage: fullUsage(usage) } : {}),
  }
}

const fullUsage = (usage: Usage) => ({
  ...inputOf(usage),
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cache_write_5m,
    ephemeral_1h_input_tokens: usage.cache_write_1h,
  },
  output_tokens: usage.output,
  ...searchesOf(usage),
  service_tier: 'standard',
})

/** The signature of thoughts, which clients do not read and send back. */
const signatureOf = (answer: Answer): string => Buffer.from(`signature of ${answer.id}`.repeat(8)).toString('base64')

function contentOf(answer: Answer): object[] {
  const thinking = answer.thinking.join('')
  const thought = { type: 'thinking', thinking, signature: signatureOf(answer) }
  const said =
    answer.call === null
      ? { type: 'text', text: answer.text.join(''), ...citedBy(answer) }
      : { type: 'tool_use', id: `toolu_${answer.id}`, name: answer.call.name, input: inputOfCall(answer) }
  return [...(thinking === '' ? [] : [thought]), ...searched(answer), said]
}

const citedBy = ({ search }: Answer) => (search === null ? {} : { citations: [citationBlock(search)] })

/** The arguments of a call. When the maximum cut them they are not JSON, and the answer has an empty object. */
function inputOfCall({ call, finish }: Answer): unknown {
  return finish === 'length' ? {} : JSON.parse(call?.args.join('') ?? '{}')
}

const start = (index: number, block: object): Frame =>
  frame(event('content_block_start', { index, content_block: block }))
const stop = (index: number): Frame => frame(event('content_block_stop', { index }))
const delta = (index: number, fields: object, tokens: number): Frame =>
  frame(event('content_block_delta', { index, delta: fields }), tokens)

function* thinkingBlock(answer: Answer, index: number): Iterable<Frame> {
  yield start(index, { type: 'thinking', thinking: '', signature: '' })
  for (const { text, tokens } of groups(answer.thinking, answer.chunk))
    yield delta(index, { type: 'thinking_delta', thinking: text }, tokens)
  yield delta(index, { type: 'signature_delta', signature: signatureOf(answer) }, 0)
  yield stop(index)
}

/** A search begins with its input in pieces, and what it found comes at once. */
function* wholeBlock(block: Fields, index: number): Iterable<Frame> {
  const { input, ...rest } = block
  yield start(index, input === undefined ? block : { ...rest, input: {} })
  const text = JSON.stringify(input) ?? ''
  for (const partial_json of text === '' ? [] : [text.slice(0, 7), text.slice(7)])
    yield delta(index, { type: 'input_json_delta', partial_json }, 0)
  yield stop(index)
}

function* textBlock(answer: Answer, index: number): Iterable<Frame> {
  yield start(index, { type: 'text', text: '' })
  for (const citation of citedBy(answer).citations ?? []) yield delta(index, { type: 'citations_delta', citation }, 0)
  yield frame(event('ping', {}))
  for (const { text, tokens } of groups(answer.text, answer.chunk))
    yield delta(index, { type: 'text_delta', text }, tokens)
  yield stop(index)
}

function* callBlock(answer: Answer, index: number): Iterable<Frame> {
  yield start(index, { type: 'tool_use', id: `toolu_${answer.id}`, name: answer.call?.name, input: {} })
  yield frame(event('ping', {}))
  yield delta(index, { type: 'input_json_delta', partial_json: '' }, 0)
  for (const { text, tokens } of groups(answer.call?.args ?? [], answer.chunk))
    yield delta(index, { type: 'input_json_delta', partial_json: text }, tokens)
  yield stop(index)
}
