/** What most dialects have in common: fixed paths, a bearer token, streams of events, and usage as it was counted. */
import { noUsage, type Usage } from '../../../lib/protocols/words/usage.ts'
import { type Ask, type Dialect, type Fields, type Route, stringOf } from '../dialect.ts'

export const fixedPaths =
  (paths: Readonly<Record<string, Route['action']>>): Dialect['route'] =>
  ({ pathname }) => {
    const action = Object.hasOwn(paths, pathname) ? paths[pathname] : undefined
    return action === undefined ? null : { action, model: null, stream: false, events: false }
  }

export const bearer: Dialect['credential'] = header => /^Bearer (.+)$/i.exec(header('authorization') ?? '')?.[1] ?? null

export const PLAIN: Pick<Dialect, 'credential' | 'keepsWhenAsked' | 'streamsEvents' | 'usage'> = {
  credential: bearer,
  keepsWhenAsked: false,
  streamsEvents: () => true,
  usage: (_ask, _directive, usage) => usage,
}

/** Errors and headers that the OpenAI-compatible protocols have in common. */
const TYPES: Record<number, [type: string, code: string | null]> = {
  400: ['invalid_request_error', null],
  401: ['invalid_request_error', 'invalid_api_key'],
  403: ['invalid_request_error', null],
  404: ['invalid_request_error', 'model_not_found'],
  429: ['requests', 'rate_limit_exceeded'],
}

export function errorBody(status: number, message: string): object {
  const [type, code] = TYPES[status] ?? ['server_error', null]
  return { error: { message, type, param: null, code } }
}

export const FAILURE = 'The server had an error while processing your request. Sorry about that!'

export const headers = (id: string): Record<string, string> => ({
  'x-request-id': id,
  'openai-processing-ms': '12',
  'x-ratelimit-remaining-requests': '999',
})

type Shared = 'chunk' | 'usage' | 'streamsEvents' | 'frames' | 'count' | 'error' | 'errorFrame' | 'headers'

export const INPUT_ONLY: Pick<Dialect, Shared> & typeof PLAIN = {
  ...PLAIN,
  chunk: 1,
  streamsEvents: () => false,
  // these requests have no prompt cache, so what it would have given counts as fresh input
  usage: (_ask, _directive, { input, cache_read }): Usage => ({ ...noUsage(), input: input + cache_read }),
  frames: () => [],
  count: null,
  error: errorBody,
  errorFrame: () => '',
  headers,
}

/** Makes the ask of such a request. `texts` are the texts that the upstream reads; a directive stands in the last of them. */
export const inputAsk = (body: Fields, texts: readonly string[], choices: number): Ask => ({
  model: stringOf(body['model']),
  stream: false,
  body,
  prompt: texts.at(-1) ?? '',
  blocks: texts.map(text => ({ text, keep: null })),
  maxTokens: 0,
  choices,
  thinks: false,
  tool: null,
  offered: [],
  option: false,
})
