/**
 * Splits tokens by what they stand for: text, pictures or sound. Upstreams report a total, and beside it details that may
 * name too many tokens, too few, or none. The total always stays what it is:
 * - What the details have above the total is taken off sound first, then pictures, then text.
 * - What no detail names is text. Of tokens that were cached, what no detail names is taken from text first, then pictures,
 *   then sound.
 */
import { type Fields, isFields } from '../json/fields.ts'
import { first } from './reports.ts'
import { noUsage, type Usage } from './usage.ts'

export interface Modal {
  text: number
  image: number
  audio: number
}

const NO_DETAILS: Modal = { text: 0, image: 0, audio: 0 }

/** Whether all of it is text, so that nothing has to be split. */
const isText = ({ image, audio }: Modal): boolean => image === 0 && audio === 0

const sumOf = ({ text, image, audio }: Modal): number => text + image + audio

/** Details that have no more than the total. */
function trimmed(total: number, details: Modal): Modal {
  if (sumOf(details) <= total) return details
  const text = Math.min(details.text, total)
  const image = Math.min(details.image, total - text)
  return { text, image, audio: Math.min(details.audio, total - text - image) }
}

/** The total by its details. */
export function split(total: number, details: Modal): Modal {
  const { image, audio } = trimmed(total, details)
  return { text: total - image - audio, image, audio }
}

/** Which of the tokens `from` are the `total` that was cached, or written to a cache. The total is no more than they. */
function taken(total: number, from: Modal, details: Modal): Modal {
  const named = trimmed(total, {
    text: Math.min(details.text, from.text),
    image: Math.min(details.image, from.image),
    audio: Math.min(details.audio, from.audio),
  })
  const text = Math.min(from.text, total - named.image - named.audio)
  const image = Math.min(from.image, total - text - named.audio)
  return { text, image, audio: total - text - image }
}

const without = (from: Modal, less: Modal): Modal => ({
  text: from.text - less.text,
  image: from.image - less.image,
  audio: from.audio - less.audio,
})

/** Details as OpenAI-compatible upstreams report them. Frames of a film count as pictures; its sound is named apart. */
export function detailsOf(details: Fields): Modal {
  const text = first(details, 'text_tokens', 'cached_text_tokens') ?? 0
  const pictures = first(details, 'image_tokens', 'cached_image_tokens') ?? 0
  const image = pictures + (first(details, 'video_tokens', 'cached_video_tokens') ?? 0)
  const audio = first(details, 'audio_tokens', 'cached_audio_tokens') ?? 0
  return text + image + audio === 0 ? NO_DETAILS : { text, image, audio }
}

/** Documents, and whatever else there may be, are text. */
const MODALITIES: Readonly<Record<string, keyof Modal>> = { IMAGE: 'image', VIDEO: 'image', AUDIO: 'audio' }

/** Details as a list of `{modality, tokenCount}`. */
export function listedDetails(list: unknown): Modal {
  if (!Array.isArray(list)) return NO_DETAILS
  const sum = { ...NO_DETAILS }
  for (const detail of list.filter(isFields)) {
    const { modality } = detail
    const of = typeof modality === 'string' && Object.hasOwn(MODALITIES, modality) ? MODALITIES[modality] : undefined
    sum[of ?? 'text'] += first(detail, 'tokenCount') ?? 0
  }
  return sum
}

/** What an upstream reports whose prompt includes the tokens that were read from a cache and written to one. */
export interface Counts {
  prompt: number
  output: number
  cached?: number
  written?: number
  /** Of those written, the ones that live long. */
  written1h?: number
  details?: { prompt?: Modal; cached?: Modal; output?: Modal }
}

/** The usage in classes that do not overlap. All classes of input together are the prompt. */
export function fromPrompt({ prompt, output, cached = 0, written = 0, written1h = 0, details }: Counts): Usage {
  const usage = noUsage()
  const read = Math.min(cached, prompt)
  const writes = Math.min(written, prompt - read)
  usage.cache_write_1h = Math.min(written1h, writes)
  usage.cache_write_5m = writes - usage.cache_write_1h
  usage.input = prompt - read - writes
  usage.cache_read = read
  usage.output = output
  if (details?.prompt !== undefined && !isText(details.prompt))
    splitInput(usage, split(prompt, details.prompt), details.cached ?? NO_DETAILS, writes)
  if (details?.output !== undefined && !isText(details.output)) {
    const made = split(output, details.output)
    usage.output = made.text
    usage.output_audio = made.audio
    usage.output_image = made.image
  }
  return usage
}

function splitInput(usage: Usage, all: Modal, cached: Modal, writes: number): void {
  const read = taken(usage.cache_read, all, cached)
  const unread = without(all, read)
  const fresh = without(unread, taken(writes, unread, NO_DETAILS))
  usage.input = fresh.text
  usage.input_audio = fresh.audio
  usage.input_image = fresh.image
  usage.cache_read = read.text
  usage.cache_read_audio = read.audio
  usage.cache_read_image = read.image
}
