/**
 * The simulator's responses: named and numbered events around output items; the last event repeats the whole answer.
 */
import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import type { Usage } from '../../../lib/protocols/words/usage.ts'
import {
  stringOf,
  countOf,
  need,
  plainBlocks,
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
  listOf,
} from '../dialect.ts'
import { likely, topOfResponses } from '../logprobs.ts'
import { annotation, asksToSearch, searchItem } from '../search.ts'
import { errorBody, FAILURE, headers, fixedPaths, PLAIN } from './plain.ts'

type Status = 'in_progress' | 'completed' | 'incomplete'

/** Numbers the events of one stream. */
class Sequence {
  #next = 0

  event(type: string, fields: object, tokens = 0, usage: Usage | null = null): Frame {
    const data = JSON.stringify({ type, sequence_number: this.#next++, ...fields })
    return frame(`event: ${type}\ndata: ${data}\n\n`, tokens, usage)
  }
}

export const responses: Dialect = {
  ...PLAIN,
  route: fixedPaths({ '/v1/responses': 'answer', '/v1/responses/input_tokens': 'count' }),
  chunk: 1,
  read(body) {
    const input = body['input']
    need(input !== undefined, "Missing required parameter: 'input'.")
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : rowsOf(input)
    const effort = fieldsOf(body['reasoning'])['effort']
    const offered = toolsOf(body)
    return {
      model: stringOf(body['model']),
      stream: body['stream'] === true,
      body,
      prompt: promptOf(items.filter(isMessage), item => item['content']),
      blocks: plainBlocks(listOf(body['tools']), [body['instructions'] ?? ''], items),
      maxTokens: countOf(body['max_output_tokens']),
      choices: 1,
      thinks: typeof effort === 'string' && effort !== 'none',
      tool: toolAskedFor(
        items.filter(isMessage).at(-1) === items.at(-1) ? items.at(-1) : undefined,
        items.at(-1)?.['content'],
        offered,
      ),
      offered,
      searches: asksToSearch(body),
      option: false,
    }
  },
  whole: (ask, answer) => response(ask, answer, statusOf(answer)),
  *frames(ask, answer) {
    const sequence = new Sequence()
    const begun = response(ask, answer, 'in_progress')
    yield sequence.event('response.created', { response: begun })
    yield sequence.event('response.in_progress', { response: begun })
    let index = 0
    if (answer.thinking.length > 0) yield* reasoning(sequence, answer, index++)
    if (answer.search !== null) yield* search(sequence, searchItem(answer.search, answer.id, ask.body), index++)
    if (asksToCompact(ask.body)) yield* compaction(sequence, answer, index)
    else yield* answer.call === null ? text(sequence, ask, answer, index) : call(sequence, answer, index)
    const status = statusOf(answer)
    const whole = response(ask, answer, status)
    yield sequence.event(`response.${status}`, { response: whole }, 0, answer.reports ? answer.usage : null)
  },
  count: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
  error: errorBody,
  errorFrame: () => {
    const error = { type: 'server_error', code: 'server_error', message: FAILURE, param: null }
    return `event: error\ndata: ${JSON.stringify({ ...error, type: 'error', sequence_number: 0, error })}\n\n`
  },
  headers,
}

const isMessage = (item: Fields): boolean => (item['type'] ?? 'message') === 'message'
const toolsOf = (body: Fields) =>
  rowsOf(body['tools'])
    .filter(tool => tool['type'] === 'function')
    .map(tool => ({ name: stringOf(tool['name']), schema: tool['parameters'] }))

const statusOf = (answer: Answer): Status => (answer.finish === 'length' ? 'incomplete' : 'completed')

function response(ask: Ask, answer: Answer, status: Status): object {
  const { body } = ask
  const done = status !== 'in_progress'
  return {
    id: `resp_${answer.id}`,
    object: 'response',
    created_at: answer.createdS,
    status,
    background: false,
    completed_at: status === 'completed' ? answer.createdS : null,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: ask.maxTokens,
    model: ask.model,
    output: done ? outputOf(ask, answer) : [],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: fieldsOf(body['reasoning'])['effort'] ?? null, summary: null },
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: listOf(body['tools']),
    top_logprobs: topOfResponses(body) ?? 0,
    top_p: 1,
    truncation: 'disabled',
    usage: done && answer.reports ? usageOf(answer.usage, answer.thinking.length) : null,
    user: null,
    metadata: {},
  }
}

function usageOf(usage: Usage, reasoningTokens: number) {
  const written = usage.cache_write_5m + usage.cache_write_1h
  const input = usage.input + usage.cache_read + written
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cache_read, cache_write_tokens: written },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: input + usage.output,
  }
}

const reasoningItem = (answer: Answer) => ({ id: `rs_${answer.id}`, type: 'reasoning', summary: [] })
const partOf = (said: string, annotations: object[] = [], logprobs: object[] = []) => ({
  type: 'output_text',
  annotations,
  logprobs,
  text: said,
})
const wholePart = ({ body }: Ask, answer: Answer) =>
  partOf(answer.text.join(''), notesOf(answer), likely(answer.text, topOfResponses(body)))
const notesOf = ({ search, text }: Answer): object[] => (search === null ? [] : [annotation(search, text.join(''))])
const messageItem = (answer: Answer, status: Status, content: object[]) => ({
  id: `msg_${answer.id}`,
  type: 'message',
  status,
  content,
  role: 'assistant',
})
const callItem = (answer: Answer, status: Status, args: string) => ({
  id: `fc_${answer.id}`,
  type: 'function_call',
  status,
  arguments: args,
  call_id: `call_${answer.id}`,
  name: answer.call?.name,
})

/** The client wants a long conversation to be summed up, in an item that only the provider can read. */
const asksToCompact = (body: Fields): boolean =>
  Array.isArray(body['input']) && rowsOf(body['input']).some(item => item['type'] === 'compaction_trigger')
const compactionItem = (answer: Answer) => ({
  id: `cmp_${answer.id}`,
  type: 'compaction',
  encrypted_content: Buffer.from(answer.text.join('')).toString('base64'),
})

function* compaction(sequence: Sequence, answer: Answer, index: number): Iterable<Frame> {
  const at = { output_index: index, item: compactionItem(answer) }
  yield sequence.event('response.output_item.added', at)
  yield sequence.event('response.output_item.done', at, answer.text.length)
}

function outputOf(ask: Ask, answer: Answer): object[] {
  const { body } = ask
  if (asksToCompact(body)) return [compactionItem(answer)]
  const said =
    answer.call === null
      ? messageItem(answer, statusOf(answer), [wholePart(ask, answer)])
      : callItem(answer, statusOf(answer), answer.call.args.join(''))
  const searched = answer.search === null ? [] : [searchItem(answer.search, answer.id, body)]
  return [...(answer.thinking.length > 0 ? [reasoningItem(answer)] : []), ...searched, said]
}

/** The events of reasoning, which is counted and not shown, because no summary was asked for. */
function* reasoning(sequence: Sequence, answer: Answer, index: number): Iterable<Frame> {
  const item = reasoningItem(answer)
  yield sequence.event('response.output_item.added', { output_index: index, item })
  yield sequence.event('response.output_item.done', { output_index: index, item }, answer.thinking.length)
}

function* search(sequence: Sequence, item: ReturnType<typeof searchItem>, index: number): Iterable<Frame> {
  const { action: _, ...begun } = item
  const at = { output_index: index, item_id: item.id }
  yield sequence.event('response.output_item.added', { output_index: index, item: { ...begun, status: 'in_progress' } })
  for (const state of ['in_progress', 'searching', 'completed'])
    yield sequence.event(`response.web_search_call.${state}`, at)
  yield sequence.event('response.output_item.done', { output_index: index, item })
}

function* text(sequence: Sequence, ask: Ask, answer: Answer, index: number): Iterable<Frame> {
  const top = topOfResponses(ask.body)
  const item = { output_index: index, item: messageItem(answer, 'in_progress', []) }
  const at = { item_id: `msg_${answer.id}`, output_index: index, content_index: 0 }
  yield sequence.event('response.output_item.added', item)
  yield sequence.event('response.content_part.added', { ...at, part: partOf('') })
  for (const { text: delta, tokens, group } of groups(answer.text, answer.chunk)) {
    const fields = { ...at, delta, logprobs: likely(group, top), obfuscation: 'Zk3x9' }
    yield sequence.event('response.output_text.delta', fields, tokens)
  }
  for (const [n, note] of notesOf(answer).entries())
    yield sequence.event('response.output_text.annotation.added', { ...at, annotation_index: n, annotation: note })
  const part = wholePart(ask, answer)
  yield sequence.event('response.output_text.done', { ...at, text: part.text, logprobs: part.logprobs })
  yield sequence.event('response.content_part.done', { ...at, part })
  yield sequence.event('response.output_item.done', { ...item, item: messageItem(answer, statusOf(answer), [part]) })
}

function* call(sequence: Sequence, answer: Answer, index: number): Iterable<Frame> {
  const at = { item_id: `fc_${answer.id}`, output_index: index }
  const args = answer.call?.args ?? []
  yield sequence.event('response.output_item.added', { output_index: index, item: callItem(answer, 'in_progress', '') })
  for (const { text: delta, tokens } of groups(args, answer.chunk))
    yield sequence.event('response.function_call_arguments.delta', { ...at, delta }, tokens)
  const said = args.join('')
  yield sequence.event('response.function_call_arguments.done', { ...at, name: answer.call?.name, arguments: said })
  yield sequence.event('response.output_item.done', {
    output_index: index,
    item: callItem(answer, statusOf(answer), said),
  })
}
