/** What the dialects have in common whose answers are one document, never a stream, and cost nothing but their input. */
import { noUsage, type Usage } from '../../terms/records.ts'
import { stringOf } from '../reading.ts'
import type { Ask, Dialect, Fields } from '../speech.ts'
import { errorBody, headers } from './openai.ts'
import { PLAIN } from './plain.ts'

type Shared = 'chunk' | 'usage' | 'streamsEvents' | 'frames' | 'count' | 'error' | 'errorFrame' | 'headers'

export const INPUT_ONLY: Pick<Dialect, Shared> & typeof PLAIN = {
  ...PLAIN,
  chunk: 1,
  streamsEvents: () => false,
  // nothing is remembered between two of these requests
  usage: (_ask, _directive, { input, cache_read }): Usage => ({ ...noUsage(), input: input + cache_read }),
  frames: () => [],
  count: null,
  error: errorBody,
  errorFrame: () => '',
  headers,
}

/** `texts`: what is read; directives stand in the last of them. */
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
  option: false,
})
