/**
 * The simulator's generate-content: few large events whose lines end in CRLF, with usage in each; without `alt=sse` one
 * JSON array.
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
} from '../dialect.ts'
import { likelyResult, topOfGenerate } from '../logprobs.ts'
import { asksGoogle, grounding } from '../search.ts'
import { PLAIN } from './plain.ts'

const FINISH = { stop: 'STOP', length: 'MAX_TOKENS', call: 'STOP' }
const STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  504: 'DEADLINE_EXCEEDED',
}
const CHUNK = 20
const PATH = /^\/v1(?:beta|alpha)?\/models\/(.+):(generateContent|streamGenerateContent|countTokens)$/
const MOST_CANDIDATES = 8

const contentsOf = (body: Fields): Fields[] => rowsOf(body['contents'])
const thinkingOf = (body: Fields): Fields => fieldsOf(fieldsOf(body['generationConfig'])['thinkingConfig'])
const errorOf = (status: number, message: string) => ({
  error: { code: status, message, status: STATUSES[status] ?? 'UNAVAILABLE' },
})

export const generate: Dialect = {
  ...PLAIN,
  route(url) {
    const found = PATH.exec(url.pathname)
    const model = found === null ? null : decoded(found[1] as string)
    if (found === null || model === null) return null
    return {
      action: found[2] === 'countTokens' ? 'count' : 'answer',
      model,
      stream: found[2] === 'streamGenerateContent',
      events: url.searchParams.get('alt') === 'sse',
    }
  },
  credential: (header, url) => header('x-gamma-api-key') ?? header('x-goog-api-key') ?? url.searchParams.get('key'),
  streamsEvents: ask => ask.option,
  // the protocol has no number for what was written to a cache
  usage: (_ask, _directive, usage) => ({ ...usage, cache_write_5m: 0 }),
  chunk: CHUNK,
  read(body, route) {
    const contents = contentsOf(body)
    need(contents.length > 0, '* GenerateContentRequest.contents: contents is not specified')
    const config = fieldsOf(body['generationConfig'])
    const budget = thinkingOf(body)['thinkingBudget']
    const declared = rowsOf(body['tools']).flatMap(tool => rowsOf(tool['functionDeclarations']))
    const offered = declared.map(f => ({
      name: stringOf(f['name']),
      schema: f['parametersJsonSchema'] ?? f['parameters'],
    }))
    return {
      model: route.model ?? '',
      stream: route.stream,
      body,
      prompt: promptOf(contents, row => row['parts']),
      blocks: plainBlocks(declared, [body['systemInstruction'] ?? ''], contents),
      maxTokens: countOf(config['maxOutputTokens']),
      choices: Math.min(countOf(config['candidateCount']) ?? 1, MOST_CANDIDATES),
      thinks: config['thinkingConfig'] !== undefined && budget !== 0,
      tool: toolAskedFor(contents.at(-1), contents.at(-1)?.['parts'], offered),
      offered,
      searches: asksGoogle(body),
      option: route.events,
    }
  },
  whole(ask, answer) {
    const thought = thoughtPart(ask, answer.thinking.join(''))
    const said = answer.call === null ? { text: answer.text.join('') } : callPart(answer)
    return chunkOf(ask, answer, [...thought, said], true, answer.usage.output, answer.call === null ? answer.text : [])
  },
  frames: (ask, answer) => (ask.option ? asEvents(chunks(ask, answer)) : asArray(chunks(ask, answer))),
  count: tokens => ({
    totalTokens: tokens,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
  }),
  error: errorOf,
  errorFrame(ask, first) {
    const error = errorOf(503, 'The model is overloaded. Please try again later.')
    if (ask.option) return `data: ${JSON.stringify(error)}\r\n\r\n`
    return `${first ? '[' : ',\r\n'}${JSON.stringify(error, null, 2)}\r\n]`
  },
  headers: () => ({ 'server-timing': 'gfet4t7; dur=12' }),
}

/** Returns null for a broken percent escape, which names nothing. */
function decoded(name: string): string | null {
  try {
    return decodeURIComponent(name)
  } catch {
    return null
  }
}

interface Chunk {
  fields: object
  tokens: number
  usage: Usage | null
}

function* chunks(ask: Ask, answer: Answer): Iterable<Chunk> {
  let tokens = 0
  const chunk = (parts: object[], added: number, last: boolean, group: readonly string[] = []): Chunk => {
    tokens += added * ask.choices
    const usage = answer.reports ? { ...answer.usage, output: tokens } : null
    return { fields: chunkOf(ask, answer, parts, last, tokens, group), tokens: added * ask.choices, usage }
  }
  if (answer.thinking.length > 0)
    yield chunk(
      thoughtPart(ask, answer.thinking.join('')),
      answer.thinking.length,
      answer.text.length === 0 && answer.call === null,
    )
  if (answer.call !== null) yield chunk([callPart(answer)], answer.call.args.length, true)
  else {
    const said = [...groups(answer.text, answer.chunk)]
    if (said.length === 0 && answer.thinking.length === 0) yield chunk([{ text: '' }], 0, true)
    for (const [i, { text, tokens: added, group }] of said.entries())
      yield chunk([{ text }], added, i === said.length - 1, group)
  }
}

function* asEvents(all: Iterable<Chunk>): Iterable<Frame> {
  for (const { fields, tokens, usage } of all) yield frame(`data: ${JSON.stringify(fields)}\r\n\r\n`, tokens, usage)
}

function* asArray(all: Iterable<Chunk>): Iterable<Frame> {
  let before = '['
  for (const { fields, tokens, usage } of all) {
    yield frame(before + JSON.stringify(fields, null, 2), tokens, usage)
    before = ',\r\n'
  }
  yield frame('\r\n]')
}

/** Thoughts are counted; their text is shown only when asked for. */
const thoughtPart = (ask: Ask, text: string): object[] =>
  text !== '' && thinkingOf(ask.body)['includeThoughts'] === true ? [{ text, thought: true }] : []

function callPart({ call, finish }: Answer): object {
  const args = finish === 'length' ? {} : JSON.parse(call?.args.join('') ?? '{}')
  return { functionCall: { name: call?.name, args } }
}

/** `group`: the tokens of the text that is in it. */
function chunkOf(
  ask: Ask,
  answer: Answer,
  parts: object[],
  last: boolean,
  tokens: number,
  group: readonly string[],
): object {
  const { search } = answer
  const candidates = Array.from({ length: ask.choices }, (_, index) => ({
    content: { parts, role: 'model' },
    ...(last ? { finishReason: FINISH[answer.finish] } : {}),
    ...likelyResult(group, topOfGenerate(ask.body)),
    ...(last && search !== null ? { groundingMetadata: grounding(search, answer.text.join('')) } : {}),
    index,
  }))
  return {
    candidates,
    ...(answer.reports ? { usageMetadata: usageOf(answer, tokens, answer.thinking.length * ask.choices) } : {}),
    modelVersion: ask.model,
    responseId: answer.id,
  }
}

function usageOf({ usage }: Answer, tokens: number, thoughts: number) {
  const prompt = usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: tokens - thoughts,
    totalTokenCount: prompt + tokens,
    ...(usage.cache_read > 0 ? { cachedContentTokenCount: usage.cache_read } : {}),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
  }
}
