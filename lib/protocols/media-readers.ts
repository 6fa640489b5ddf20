/**
 * Readers of pictures, documents and sound in a request's body: whether they stand in it as base64 or are fetched by the
 * upstream, and how much input each may come to.
 */
import type { Draft } from './draft.ts'
import type { Frame, Read } from './places.ts'
import { textOf } from './readers.ts'

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i
const WEB = /^https?:/i
const SCHEME = /^\s*([a-z][a-z0-9+.-]*):/i
const UNKNOWN = 'application/octet-stream'

/**
 * The fewest bytes that a page of a document has. The number of pages cannot be seen in the base64, so a short text may
 * count as several pages; but no document counts as more than the model's `max_input`.
 */
const PAGE_BYTES = 4096
/** The fewest bytes that a second of sound has: 6 kbit/s when compressed, 8 bits at 8 kHz as plain samples. */
const SOUND_BYTES_PER_S = 750
const SAMPLES_PER_S = 8000
const SAMPLES = /^audio\/(x-)?(wave?|pcm(16)?|l16|vnd\.wave)\b/i

export const mime: Read = (_draft, value, frame) => {
  frame.mime = textOf(value) ?? '?'
}

/** Reads a string of data; its beginning will tell what it is. */
export const data: Read = (_draft, value, frame) => {
  if (value.kind !== 'string' || value.text === null) return
  frame.dataLength = value.end - value.start - 2
  frame.head = headOf(value.text)
}

export const url: Read = (draft, value, frame) => {
  if (value.kind !== 'string' || value.end - value.start <= 2) return
  frame.urls++
  if (value.text !== null && namesStored(headOf(value.text))) draft.invalid ??= 'url'
}

/** The beginning of a string with its escapes undone, because some writers escape every slash. */
const headOf = (text: string): string =>
  text
    .slice(1)
    .replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code: string | undefined, one: string | undefined) =>
      code === undefined ? (one ?? '') : String.fromCharCode(Number.parseInt(code, 16)),
    )

/** Counts base64 inside the body by its media type and size. Its bytes do not count as text. */
export function inline(draft: Draft, mimeType: string, length: number): void {
  const { prompt } = draft
  const bytes = Math.ceil(length * 0.75)
  draft.mediaBytes += length
  if (mimeType.startsWith('image/')) prompt.pictures++
  else if (mimeType.startsWith('text/')) draft.mediaBytes -= Math.min(bytes, length)
  else if (mimeType.startsWith('audio/')) {
    prompt.sounds++
    prompt.soundS += Math.ceil(bytes / (SAMPLES.test(mimeType) ? SAMPLES_PER_S : SOUND_BYTES_PER_S))
  } else {
    prompt.documents++
    prompt.pages += Math.ceil(bytes / PAGE_BYTES)
  }
}

/** Whether a URL is not one of the web: providers use such URLs for files in a store of theirs. */
function namesStored(head: string): boolean {
  const scheme = SCHEME.exec(head)?.[1]?.toLowerCase()
  return scheme !== undefined && !['http', 'https', 'data'].includes(scheme)
}

/**
 * Counts what a URL leads to. A data URL has it inside; other URLs are fetched by the upstream. `head`: how the URL
 * begins.
 */
function fetched(draft: Draft, head: string, length: number, picture: boolean): void {
  const found = DATA_URL.exec(head)
  if (found !== null) inline(draft, found[1] || UNKNOWN, length - found[0].length)
  else if (namesStored(head)) draft.invalid ??= 'url'
  else if (picture) draft.prompt.remotePictures++
  else draft.prompt.remoteDocuments++
}

/** Counts the data of a frame, which is a URL or base64. `bare`: the media type of base64 without a URL. */
export function inlineOrFetched(draft: Draft, { head, dataLength }: Frame, bare = UNKNOWN): void {
  if (dataLength <= 0) return
  if (DATA_URL.test(head) || WEB.test(head) || namesStored(head))
    fetched(draft, head, dataLength, bare.startsWith('image/'))
  else inline(draft, bare, dataLength)
}

const readUrl =
  (picture: boolean): Read =>
  (draft, value) => {
    const length = value.end - value.start - 2
    if (value.kind === 'string' && value.text !== null && length > 0)
      fetched(draft, headOf(value.text), length, picture)
  }

/** Reads the URL of a picture, which may be a data URL. */
export const pictureUrl = readUrl(true)
/** Reads the URL of a document, film or sound, which may be a data URL. */
export const documentUrl = readUrl(false)
