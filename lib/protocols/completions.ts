/**
 * OpenAI-compatible completions, the form before chat: a prompt is continued. Channels of chat are asked in it, at a path of its own, and
 * what it costs is as in chat. Each of several prompts has as many answers as are wanted.
 */
import { ContentKeys } from './answers/content.ts'
import { chat, choicesMeter, openAiWords, stopByLength, WITHOUT_STREAM_OPTIONS } from './chat.ts'
import { type Fields, fieldsOf, isFields } from './json/text.ts'
import { streamOptions, top } from './layouts.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow } from './protocol.ts'
import { jsonBody } from './requests/body.ts'
import type { Draft } from './requests/facts.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'

/** The number of answers of any request is at most this. */
const MOST_ANSWERS = 1_000_000

/** The prompt is a text, a list of texts, a list of tokens, or a list of such lists. llama.cpp reads objects for texts, too. */
const prompt = new Place({
  nests: true,
  list: draft => void draft.listedPrompts++,
  begin: draft => void draft.listedPrompts++,
  element(draft, { kind, start, end }) {
    if (kind === 'string') draft.listedPrompts++
    else addToken(draft, end - start)
  },
})

/** A number is one token, however many digits it has. Its digits and the comma behind it are no text. */
function addToken(draft: Draft, digits: number): void {
  draft.prompt.tokens++
  draft.mediaBytes += digits + 1
}

const completionsBody = top({
  begin(draft) {
    draft.pictures = draft.sound = false
  },
  // answers of which none are returned are written and charged, and cannot be counted in what is returned
  end(draft) {
    if (draft.bestOf > draft.n) draft.invalid ??= 'best_of'
    draft.n = Math.min(MOST_ANSWERS, Math.max(1, draft.listedPrompts) * draft.n)
  },
})
  .has('prompt', { inside: prompt })
  // each of these is a prompt, too, and nobody can say how long
  .has('prompt_embeds', (draft, value) => {
    if (!read.isNull(value)) draft.invalid ??= 'prompt_embeds'
  })
  .has('max_tokens', read.maximum('max_tokens'))
  .has('n', read.answers)
  .has('n_cmpl', read.answers)
  .has('best_of', read.bestOf)
  // the prompt would stand in the answer, and be counted as written
  .has('echo', (draft, value) => {
    if (read.isOn(value)) draft.invalid ??= 'echo'
  })
  .has('stream_options', streamOptions)

completionsBody.has('extra_body', { inside: read.extraBody(completionsBody) })

const PATH = '/v1/completions'
const OBJECT = 'text_completion'

/** Mistral fills in the middle of a text, and answers in the form of chat. */
function ofChat(answer: Fields): Fields {
  const { choices } = answer
  return Array.isArray(choices) ? { ...answer, object: OBJECT, choices: choices.map(completed) } : answer
}

function completed(choice: unknown): unknown {
  const { message, delta, logprobs = null, ...rest } = fieldsOf(choice)
  const said = message ?? delta
  return isFields(said) ? { ...rest, text: textOf(said['content']), logprobs } : choice
}

/** A text, or pieces of one. */
const textOf = (content: unknown): string =>
  Array.isArray(content)
    ? content.map(piece => textOf(fieldsOf(piece)['text'])).join('')
    : typeof content === 'string'
      ? content
      : ''

export const completions: ProtocolRow = {
  ...chat,
  formOf: 'chat',
  client: bearerClient(clientPath('/completions')),
  upstream: openAiUpstream(PATH, {
    openai: PATH,
    azure: '/openai/v1/completions',
    'azure-deployments': '/openai/deployments/{model}/completions',
    cerebras: PATH,
    dashscope: '/compatible-mode/v1/completions',
    deepinfra: '/v1/openai/completions',
    deepseek: '/beta/completions',
    fireworks: '/inference/v1/completions',
    mistral: { path: '/v1/fim/completions', body: WITHOUT_STREAM_OPTIONS, rewrites: ofChat },
    nvidia: PATH,
    openrouter: '/api/v1/completions',
    siliconflow: PATH,
    together: PATH,
  }),
  body: jsonBody(completionsBody),
  meter: choicesMeter(
    new ContentKeys({ text: ['text', 'content', 'arguments'], thought: ['reasoning', 'reasoning_content'] }),
  ),
  words: {
    ...openAiWords,
    lengthStop: state => stopByLength(state, OBJECT, [{ index: 0, text: '', logprobs: null, finish_reason: 'length' }]),
  },
}
