/**
 * The simulator's chat completions: events without names, one token each, and usage in an event of its own when it was
 * asked for.
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
  type Frame,
  frame,
  groups,
  listOf,
} from '../dialect.ts'
import { likely, topOfChat } from '../logprobs.ts'
import { asksToSearch, nestedAnnotation } from '../search.ts'
import { errorBody, FAILURE, headers, fixedPaths, PLAIN } from './plain.ts'

const FINISH = { stop: 'stop', length: 'length', call: 'tool_calls' }
/** The padding by which the real upstream hides the sizes of tokens. */
const OBFUSCATION = 'Zk3x9QpLm'
const MOST_CHOICES = 128

const data = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`

export const chat: Dialect = {
  ...PLAIN,
  route: fixedPaths({ '/v1/chat/completions': 'answer' }),
  chunk: 1,
  read(body) {
    const rows = rowsOf(body['messages'])
    need(rows.length > 0, "Missing required parameter: 'messages'.")
    const tools = rowsOf(body['tools']).map(tool => fieldsOf(tool['function']))
    const offered = tools.map(tool => ({ name: stringOf(tool['name']), schema: tool['parameters'] }))
    const effort = body['reasoning_effort']
    return {
      model: stringOf(body['model']),
      stream: body['stream'] === true,
      body,
      prompt: promptOf(rows, row => row['content']),
      blocks: plainBlocks(listOf(body['tools']), rows),
      maxTokens: countOf(body['max_completion_tokens']) ?? countOf(body['max_tokens']),
      choices: Math.min(countOf(body['n']) ?? 1, MOST_CHOICES),
      thinks: typeof effort === 'string' && effort !== 'none',
      tool: toolAskedFor(rows.at(-1), rows.at(-1)?.['content'], offered),
      offered,
      searches: asksToSearch(body),
      option: fieldsOf(body['stream_options'])['include_usage'] === true,
    }
  },
  whole(ask, answer) {
    const content = answer.call === null ? answer.text.join('') : null
    const message = { role: 'assistant', content, ...callsOf(answer), refusal: null, annotations: notesOf(answer) }
    const choices = Array.from({ length: ask.choices }, (_, index) => ({
      index,
      message,
      logprobs: answer.call === null ? logprobsOf(ask, answer.text) : null,
      finish_reason: FINISH[answer.finish],
    }))
    return {
      ...head(ask, answer, 'chat.completion'),
      choices,
      ...(answer.reports ? { usage: reported(ask, answer) } : {}),
    }
  },
  *frames(ask, answer) {
    const common = head(ask, answer, 'chat.completion.chunk')
    const event = (choices: object[], fields: object = {}) =>
      data({ ...common, choices, ...(ask.option ? { usage: null } : {}), ...fields })
    const one = (index: number, delta: object, finish: string | null, more: object = {}): string =>
      event([{ index, delta, logprobs: null, finish_reason: finish, ...more }], { obfuscation: OBFUSCATION })
    const all = (delta: object, tokens: number, finish: string | null = null, more: object = {}): Frame[] =>
      Array.from({ length: ask.choices }, (_, index) => frame(one(index, delta, finish, more), tokens))
    for (const { delta, tokens, group } of deltas(answer))
      yield* all(delta, tokens, null, group === undefined ? {} : { logprobs: logprobsOf(ask, group) })
    const finish = FINISH[answer.finish]
    if (answer.reports && answer.foreign) {
      for (let index = 1; index < ask.choices; index++) yield frame(one(index, {}, finish))
      yield frame(one(0, {}, finish, { usage: reported(ask, answer) }), 0, answer.usage)
    } else yield* all({}, 0, finish)
    if (ask.option && answer.reports && !answer.foreign)
      yield frame(event([], { usage: reported(ask, answer), obfuscation: OBFUSCATION }), 0, answer.usage)
    yield frame('data: [DONE]\n\n')
  },
  count: null,
  error: errorBody,
  errorFrame: () => data(errorBody(500, FAILURE)),
  headers,
}

const head = (ask: Ask, answer: Answer, object: string) => ({
  id: `chatcmpl-${answer.id}`,
  object,
  created: answer.createdS,
  model: ask.model,
  service_tier: 'default',
  system_fingerprint: 'fp_simulated',
})

const notesOf = ({ search, text }: Answer): object[] =>
  search === null ? [] : [nestedAnnotation(search, text.join(''))]

function callsOf({ call, id }: Answer) {
  if (call === null) return {}
  return {
    tool_calls: [{ id: `call_${id}`, type: 'function', function: { name: call.name, arguments: call.args.join('') } }],
  }
}

function logprobsOf({ body }: Ask, tokens: readonly string[]) {
  const top = topOfChat(body)
  return top === null ? null : { content: likely(tokens, top), refusal: null }
}

/** `group`: the tokens of the text, where it is one. */
function* deltas(answer: Answer): Iterable<{ delta: object; tokens: number; group?: readonly string[] }> {
  const { call, id, chunk } = answer
  if (call === null) {
    yield { delta: { role: 'assistant', content: '', refusal: null }, tokens: 0 }
    for (const { text, tokens, group } of groups(answer.text, chunk)) yield { delta: { content: text }, tokens, group }
    if (answer.search !== null) yield { delta: { annotations: notesOf(answer) }, tokens: 0 }
    return
  }
  const first = { index: 0, id: `call_${id}`, type: 'function', function: { name: call.name, arguments: '' } }
  yield { delta: { role: 'assistant', content: null, tool_calls: [first], refusal: null }, tokens: 0 }
  for (const { text, tokens } of groups(call.args, chunk))
    yield { delta: { tool_calls: [{ index: 0, function: { arguments: text } }] }, tokens }
}

const reported = (ask: Ask, { usage, thinking, foreign }: Answer) =>
  foreign ? foreignUsage(usage) : usageOf(usage, thinking.length * ask.choices)

/** Usage as Moonshot and proxies write it: what a cache had and was given stands beside the sums. */
function foreignUsage(usage: Usage) {
  const written = usage.cache_write_5m + usage.cache_write_1h
  const prompt = usage.input + usage.cache_read + written
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    cached_tokens: usage.cache_read,
    ...(written > 0 ? { cache_creation_input_tokens: written } : {}),
  }
}

function usageOf(usage: Usage, reasoning: number) {
  const written = usage.cache_write_5m + usage.cache_write_1h
  const prompt = usage.input + usage.cache_read + written
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cache_read,
      ...(written > 0 ? { cache_write_tokens: written } : {}),
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
