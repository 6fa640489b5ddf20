/**
 * What some dialects of the simulator share: those whose answer is always one document and never a stream, and whose usage is
 * their input only. `embeddings.ts` is an example.
 */
import { noUsage, type Usage } from '../../../lib/terms/records.ts'
import { stringOf } from '../reading.ts'
import type { Ask, Dialect, Fields } from '../speech.ts'
import { errorBody, headers } from './openai.ts'
import { PLAIN } from './plain.ts'

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
