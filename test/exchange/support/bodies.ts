/**
 * Random request bodies in every spelling that readers of the protocols accept, each with the most that an upstream could
 * make of it: whichever of two members of a name it takes, blind to case or not, lenient about numbers.
 */
import type { Random } from '../../support/random.ts'
import type { Talking } from '../../support/talking.ts'
import { type AnswerKinds, kindsOf, searchesOf } from './answer-asked.ts'
import { Writer } from './body-writer.ts'
import { MODEL } from './gateway.ts'

export const CEILING = 20_000
export const DEFAULT_OUTPUT = 600
const MEDIA = 2000
const MAX_INPUT = 9000
const TOOL = 500
const SEARCHES = 3
export const SETTINGS = {
  max_output: CEILING,
  default_output: DEFAULT_OUTPUT,
  input_factor: 1,
  media_input: MEDIA,
  max_input: MAX_INPUT,
  tool_input: TOOL,
  max_searches: SEARCHES,
}

export interface Dearest extends AnswerKinds {
  protocol: Talking
  text: string
  streams: boolean
  /** Tokens that the upstream may report, beside those of the body's text. */
  input: number
  /** Of one answer. */
  output: number
  n: number
  cacheTtl: '5m' | '1h' | null
  /** The most that the upstream may search. */
  searches: number
  /** The most tokens that the prompt may turn out to be. */
  prompt: number
  /** As asked for; null = not said. */
  tiers: { service: string | null; speed: string | null; geo: string | null }
  picture: { size: string | null; quality: string | null }
}

/** Names that prices of these tests list, or that cost no more, and one that is refused. */
const SERVICES = ['priority', 'flex', 'auto', 'default', 'scale']
export const SIZES = ['1024x1024', '1024x1536', 'auto']
export const QUALITIES = ['high', 'low', 'auto']

const MAXIMA: Record<Talking, string[]> = {
  messages: ['max_tokens'],
  chat: ['max_tokens', 'max_completion_tokens'],
  responses: ['max_output_tokens'],
  generate: ['maxOutputTokens', 'max_output_tokens'],
  images: [],
}
const FOREIGN = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens']
const COUNTS: Record<Talking, string[]> = {
  messages: [],
  chat: ['n', 'best_of'],
  responses: [],
  generate: ['candidateCount', 'candidate_count'],
  images: ['n'],
}

const picture = 'QUJD'.repeat(500)

/** A thing beside text, as the protocol writes it, and the tokens it may come to. */
function things(random: Random, protocol: Talking): [content: string, tokens: number][] {
  const block = (type: string, source: string) => `{"type":"${type}","source":${source}}`
  const part = (member: string) => `{${member}}`
  const url = '"https://example.test/x"'
  const data = `"data:image/png;base64,${picture}"`
  const all: Record<Talking, [string, number][]> = {
    messages: [
      [block('image', `{"type":"base64","media_type":"image/png","data":"${picture}"}`), MEDIA],
      [block('image', `{"type":"url","url":${url}}`), MEDIA],
      [block('document', `{"url":${url},"type":"url"}`), MAX_INPUT],
      [`{"content":[${block('document', `{"type":"url","url":${url}}`)}],"type":"tool_result"}`, MAX_INPUT],
    ],
    chat: [
      [part(`"image_url":{"url":${data}}`), MEDIA],
      [part(`"image_url":{"url":${url}}`), MEDIA],
      [part(`"video_url":{"url":${url}}`), MAX_INPUT],
    ],
    responses: [
      [part(`"type":"input_image","image_url":${data}`), MEDIA],
      [part(`"type":"input_image","image_url":${url}`), MEDIA],
      [part(`"type":"input_file","file_url":${url}`), MAX_INPUT],
    ],
    generate: [
      [part(`"inlineData":{"mimeType":"image/png","data":"${picture}"}`), MEDIA],
      [part(`"file_data":{"file_uri":${url},"mime_type":"image/png"}`), MEDIA],
      [part(`"fileData":{"fileUri":${url}}`), MAX_INPUT],
    ],
    images: [],
  }
  return Array.from({ length: random.int(0, 2) }, () => random.pick(all[protocol])).filter(one => one !== undefined)
}

/** Asks for tiers and kinds of pictures. */
function askRich(w: Writer, protocol: Talking): Pick<Dearest, 'tiers' | 'picture'> {
  const ask = (name: string, values: readonly string[], share: number): string | null => {
    if (!w.chance(share)) return null
    const value = w.random.pick(values)
    w.add(name, JSON.stringify(value))
    return value === 'auto' ? null : value
  }
  const isImages = protocol === 'images'
  return {
    tiers: {
      service: ask(protocol === 'generate' ? 'serviceTier' : 'service_tier', SERVICES, 0.4),
      speed: protocol === 'messages' ? ask('speed', ['fast', 'standard'], 0.3) : null,
      geo: protocol === 'messages' ? ask('inference_geo', ['us', 'global'], 0.3) : null,
    },
    picture: {
      size: isImages ? ask('size', SIZES, 0.6) : null,
      quality: isImages ? ask('quality', QUALITIES, 0.4) : null,
    },
  }
}

const ASKS_NOTHING = { tiers: { service: null, speed: null, geo: null }, picture: { size: null, quality: null } }

/** A body that names `id`, so that the upstream knows it again. `rich`: it may ask for tiers and kinds of pictures. */
export function dearest(random: Random, protocol: Talking, id: string, rich = false): Dearest {
  const w = new Writer(random)
  w.members.push(`"user":"${id}"`)
  if (protocol !== 'generate') w.members.push(`"model":"${MODEL}"`)
  if (protocol !== 'generate' && w.chance(0.03)) w.add('model', '"another"')
  const nested = protocol === 'generate' ? new Writer(random) : w
  const maximum = nested.numbers(MAXIMA[protocol], CEILING * 2, 0.5)
  const counts = nested.numbers(COUNTS[protocol], 4, 0.2)
  const kinds = kindsOf(nested, protocol)
  if (protocol === 'generate') {
    if (w.chance(0.1)) nested.add('stopSequences', `["${'x'.repeat(70_000)}"]`)
    w.add(random.pick(['generationConfig', 'generation_config']), nested.text)
  }
  for (const name of FOREIGN)
    if (!MAXIMA[protocol].includes(name) && w.chance(0.2)) w.members.push(`"${name}":${random.int(0, 3)}`)

  const streams = protocol !== 'generate' && protocol !== 'images' && w.chance(0.4)
  if (streams) w.add('stream', 'true')
  const found = things(random, protocol)
  let input = found.reduce((sum, [, tokens]) => sum + tokens, 0)
  const content = found.map(([text]) => text).join(',')
  const said = 'Tell me more. '.repeat(random.int(0, 200))
  if (protocol === 'generate') w.add('contents', `[{"parts":[{"text":"${said}"}${content && `,${content}`}]}]`)
  else if (protocol === 'responses')
    w.add('input', `[{"role":"user","content":[{"type":"input_text","text":"${said}"}${content && `,${content}`}]}]`)
  else if (protocol !== 'images')
    w.add('messages', `[{"role":"user","content":[{"type":"text","text":"${said}"}${content && `,${content}`}]}]`)

  let cacheTtl: Dearest['cacheTtl'] = protocol === 'messages' ? null : '5m'
  if (protocol === 'messages' && w.chance(0.5)) {
    cacheTtl = random.pick(['5m', '1h'])
    const mark = `{"type":"ephemeral"${cacheTtl === '1h' ? random.pick([',"ttl":"1h"', ',"t\\u0074l":"\\u0031h"']) : ''}}`
    w.add('system', `[{"type":"text","text":"x",${random.pick(['"cache_control"', '"cache\\u005fcontrol"'])}:${mark}}]`)
  }
  // without a price for searches those that are offered are left out
  const offered = w.chance(0.3) ? searchesOf(w, protocol, SEARCHES) : 0
  const searches = rich ? offered : 0
  input += searches * TOOL
  const asked = rich ? askRich(w, protocol) : ASKS_NOTHING
  const n = Math.min(Math.max(1, counts ?? 1), 50)
  // messages warm a cache with 0 and write nothing; to the others it names none, and they do as they like
  const isNamed = maximum !== null && (maximum > 0 || protocol === 'messages')
  const output = isNamed ? Math.min(CEILING, maximum) : DEFAULT_OUTPUT
  const { text } = w
  const media = text.match(/(QUJD){20,}/g)?.reduce((sum, one) => sum + one.length, 0) ?? 0
  const prompt = Math.ceil((text.length - media) / 2) + input
  return { protocol, text, streams, input, output, n, cacheTtl, searches, prompt, ...asked, ...kinds }
}
