/**
 * The protocols in which the playground asks: how a conversation is said in each, and what the events of its answer mean. It is what
 * a client of that protocol does.
 */

export interface Turn {
  role: 'user' | 'assistant'
  text: string
  /** `data:` URLs. */
  pictures: readonly string[]
}

export interface Asked {
  model: string
  turns: readonly Turn[]
  /** '' = none. */
  system: string
  /** Tokens; null = what the model takes when nothing is said. */
  mostOutput: number | null
  temperature: number | null
  /** The size of a picture to be made, such as `1024x1024`; '' = the model's own. */
  size: string
}

/** What an event adds to the answer. */
export interface Piece {
  text?: string
  thought?: string
  /** A picture as a `data:` URL, or a link to one. */
  picture?: string
  failed?: string
}

type Json = Record<string, unknown>

export interface SpokenProtocol {
  /** For documents and streams; the latter is what the playground asks for. */
  path: (model: string) => string
  body: (asked: Asked) => Json
  /** What is added to a body that asks for a stream; null = answers are documents. */
  streaming: Json | null
  read: (event: Json) => Piece[]
}

const fields = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(fields) : [])
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The media type and the base64 of a `data:` URL. */
function partsOf(url: string): { type: string; data: string } {
  const [, type = '', data = ''] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? []
  return { type, data }
}

/** Members whose value is not said are left out. */
const said = (members: Json): Json =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ''))

const textPiece = (value: unknown): Piece[] => (textIn(value) === '' ? [] : [{ text: textIn(value) }])
const thoughtPiece = (value: unknown): Piece[] => (textIn(value) === '' ? [] : [{ thought: textIn(value) }])
const picturePiece = (value: unknown): Piece[] => (textIn(value) === '' ? [] : [{ picture: textIn(value) }])
const errorPiece = (value: unknown): Piece[] => {
  const message = textIn(fields(value)['message'])
  return message === '' ? [] : [{ failed: message }]
}

const encoded = (type: unknown, data: unknown): Piece[] =>
  textIn(data) === '' ? [] : picturePiece(`data:${textIn(type) || 'image/png'};base64,${textIn(data)}`)

/** Messages need a maximum, and this is enough for a conversation. */
const MESSAGES_OUTPUT = 4096

const chat: SpokenProtocol = {
  path: () => '/v1/chat/completions',
  body: ({ model, turns, system, mostOutput, temperature }) =>
    said({
      model,
      messages: [
        ...(system === '' ? [] : [{ role: 'system', content: system }]),
        ...turns.map(({ role, text, pictures }) => ({
          role,
          content:
            pictures.length === 0
              ? text
              : [{ type: 'text', text }, ...pictures.map(url => ({ type: 'image_url', image_url: { url } }))],
        })),
      ],
      max_tokens: mostOutput,
      temperature,
    }),
  streaming: { stream: true },
  read: event => [
    ...errorPiece(event['error']),
    ...list(event['choices']).flatMap(({ delta: given }) => {
      const delta = fields(given)
      return [
        ...thoughtPiece(delta['reasoning_content']),
        ...textPiece(delta['content']),
        ...list(delta['images']).flatMap(one => picturePiece(fields(one['image_url'])['url'])),
      ]
    }),
  ],
}

const messages: SpokenProtocol = {
  path: () => '/v1/messages',
  body: ({ model, turns, system, mostOutput, temperature }) =>
    said({
      model,
      max_tokens: mostOutput ?? MESSAGES_OUTPUT,
      system,
      messages: turns.map(({ role, text, pictures }) => ({
        role,
        content:
          pictures.length === 0
            ? text
            : [
                ...pictures.map(partsOf).map(({ type, data }) => ({
                  type: 'image',
                  source: { type: 'base64', media_type: type, data },
                })),
                { type: 'text', text },
              ],
      })),
      temperature,
    }),
  streaming: { stream: true },
  read: ({ type, delta: given, error }) => {
    if (type === 'error') return errorPiece(error)
    const delta = fields(given)
    return type === 'content_block_delta' ? [...thoughtPiece(delta['thinking']), ...textPiece(delta['text'])] : []
  },
}

const responses: SpokenProtocol = {
  path: () => '/v1/responses',
  body: ({ model, turns, system, mostOutput, temperature }) =>
    said({
      model,
      instructions: system,
      input: turns.map(({ role, text, pictures }) => ({
        role,
        content: [
          { type: role === 'user' ? 'input_text' : 'output_text', text },
          ...pictures.map(url => ({ type: 'input_image', image_url: url })),
        ],
      })),
      max_output_tokens: mostOutput,
      temperature,
    }),
  streaming: { stream: true },
  read: ({ type, delta, item: given, response, error, message }) => {
    if (type === 'response.output_text.delta' || type === 'response.refusal.delta') return textPiece(delta)
    if (type === 'response.reasoning_summary_text.delta') return thoughtPiece(delta)
    if (type === 'response.failed') return errorPiece(fields(response)['error'])
    if (type === 'error') return errorPiece(error ?? { message })
    const item = fields(given)
    return type === 'response.output_item.done' && item['type'] === 'image_generation_call'
      ? encoded(`image/${textIn(item['output_format']) || 'png'}`, item['result'])
      : []
  },
}

const generate: SpokenProtocol = {
  path: model => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
  body: ({ turns, system, mostOutput, temperature }) => {
    const config = said({ maxOutputTokens: mostOutput, temperature })
    return {
      ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
      contents: turns.map(({ role, text, pictures }) => ({
        role: role === 'user' ? 'user' : 'model',
        parts: [{ text }, ...pictures.map(partsOf).map(({ type, data }) => ({ inlineData: { mimeType: type, data } }))],
      })),
      ...(Object.keys(config).length === 0 ? {} : { generationConfig: config }),
    }
  },
  streaming: {},
  read: event => [
    ...errorPiece(event['error']),
    ...list(event['candidates']).flatMap(({ content }) =>
      list(fields(content)['parts']).flatMap(part => {
        const { mimeType, data } = fields(part['inlineData'])
        return [...(part['thought'] === true ? thoughtPiece : textPiece)(part['text']), ...encoded(mimeType, data)]
      }),
    ),
  ],
}

const images: SpokenProtocol = {
  path: () => '/v1/images/generations',
  body: ({ model, turns, size }) => said({ model, prompt: turns.at(-1)?.text ?? '', size }),
  streaming: null,
  read: answer =>
    list(answer['data']).flatMap(one =>
      textIn(one['url']) === '' ? encoded('image/png', one['b64_json']) : picturePiece(one['url']),
    ),
}

/** In the order in which they are offered. */
export const SPOKEN: Readonly<Record<string, SpokenProtocol>> = { chat, messages, responses, generate, images }
