/** The readers of values that the bodies of several protocols share: each takes down in the draft what a value says. */
import type { Draft } from './draft.ts'
import type { Frame, Read, Value } from './places.ts'
import { decode, parse, scalarOf } from './scan.ts'

/** No honest request names more. */
const MOST_MODELS = 16

/** Tokens, candidates or uses beyond which no number is told apart from another. */
export const MOST = 1e9
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * A number as any reader may take it: a fraction as the next whole one, a text as its number. null = nothing is named.
 * What cannot be read, and a negative number, which some take for "no limit", is the most.
 */
export function amountOf({ kind, text }: Value): number | null {
  let value: unknown
  if (text !== null && kind === 'scalar') value = scalarOf(text)
  else if (text !== null && kind === 'string') {
    const number = decode(text)?.trim() ?? ''
    value = DECIMAL.test(number) ? Number(number) : undefined
  }
  if (value === null) return null
  return typeof value === 'number' && value >= 0 ? Math.min(MOST, Math.ceil(value)) : MOST
}

/** Of the maxima the largest counts; 0 names none. */
export const maximum: Read = (draft, value) => {
  draft.maximum = largest(draft.maximum, amountOf(value) || null)
}

/** How many answers are wanted, under whichever name. */
export const answers: Read = (draft, value) => {
  draft.n = Math.max(draft.n, amountOf(value) ?? 1)
}

const largest = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b)

/** A string of what was captured whole; null for anything else. */
export const textOf = ({ kind, text }: Value): string | null =>
  kind === 'string' && text !== null ? decode(text) : null

export const isTrue = ({ kind, text }: Value): boolean => kind === 'scalar' && text !== null && scalarOf(text) === true

export const isNull = ({ kind, text }: Value): boolean => kind === 'scalar' && text !== null && scalarOf(text) === null

const refuse = (draft: Draft, field: string): void => {
  draft.invalid ??= field
}

export const LONGEST_NAME = 1024
const LONGEST_ID = 4096

export const model = {
  limit: LONGEST_NAME,
  read: (draft: Draft, value: Value): void => {
    draft.modelSpan = { start: value.start, end: value.end }
    draft.model = textOf(value)
    draft.modelIsString = draft.model !== null
  },
}

/** Of a pass that the upstream makes beside the request's own. */
export const otherModel = {
  limit: LONGEST_NAME,
  read: (draft: Draft, value: Value): void => {
    const name = textOf(value)
    if (name !== null && draft.otherModels.length < MOST_MODELS) draft.otherModels.push(name)
    else if (!isNull(value)) refuse(draft, 'model')
  },
}

/** A tool by which another model is asked. */
export function advisor(draft: Draft, { uses, maximum }: Frame): void {
  if (draft.advisors.length < MOST_MODELS) draft.advisors.push({ uses, maximum })
  else refuse(draft, 'tools')
}

const flagOf = (draft: Draft, field: string, { kind, text }: Value): boolean => {
  const value = kind === 'scalar' && text !== null ? scalarOf(text) : undefined
  if (typeof value !== 'boolean' && value !== null) refuse(draft, field)
  return value === true
}

export const stream = {
  read: (draft: Draft, value: Value): void => {
    draft.stream = flagOf(draft, 'stream', value)
  },
}

export const background = {
  read: (draft: Draft, value: Value): void => {
    draft.background = flagOf(draft, 'background', value)
  },
}

export const promptCacheKey = {
  limit: LONGEST_NAME,
  read: (draft: Draft, value: Value): void => {
    draft.promptCacheKey = textOf(value)
  },
}

export const userId = {
  limit: LONGEST_ID,
  read: (draft: Draft, value: Value): void => {
    draft.userId = textOf(value) || null
  },
}

/** What the upstream keeps for whoever made it: its account is shared by all customers, so nobody may name any of it. */
export const stored = (field: string) => ({
  read: (draft: Draft, value: Value): void => {
    const said = value.text === null ? undefined : parse(value.text)
    const nothing = said === null || said === '' || (Array.isArray(said) && said.length === 0)
    if (!nothing) refuse(draft, field)
  },
})

/** Tiers and the like that cost no more than the list says. */
export const tier = (field: string, ...plain: string[]) => ({
  read: (draft: Draft, value: Value): void => {
    if (!isNull(value) && !plain.includes(textOf(value) ?? '')) draft.dearTier ??= field
  },
})

export const PLAIN_TIERS = ['auto', 'default', 'standard', 'standard_only', 'flex']

/** How long the entries of a cache live that the request asks for; what is not known lives long. */
export const ttl =
  (...short: string[]): Read =>
  (draft, value) => {
    if (!isNull(value) && !short.includes(textOf(value) ?? '')) draft.cacheTtl = '1h'
  }

export const type: Read = (_draft, value, frame) => {
  frame.type = textOf(value) ?? '?'
}

export const mime: Read = (_draft, value, frame) => {
  frame.mime = textOf(value) ?? '?'
}

/** A string of data, told by its beginning. */
export const data: Read = (_draft, value, frame) => {
  if (value.kind !== 'string' || value.text === null) return
  frame.dataLength = value.end - value.start - 2
  frame.head = headOf(value.text)
}

export const url: Read = (draft, value, frame) => {
  if (value.kind !== 'string' || value.end - value.start <= 2) return
  frame.urls++
  if (value.text !== null && namesStored(headOf(value.text))) refuse(draft, 'url')
}

/** 0 limits nothing, as some readers take it for a field that is not there. */
export const uses: Read = (_draft, value, frame) => {
  frame.uses = amountOf(value) || null
}

/** The beginning of a string with its escapes undone; some writers escape every slash. */
const headOf = (text: string): string =>
  text
    .slice(1)
    .replace(/\\(?:u([0-9a-f]{4})|(.))/gi, (_, code: string | undefined, one: string | undefined) =>
      code === undefined ? (one ?? '') : String.fromCharCode(Number.parseInt(code, 16)),
    )

// --- pictures, documents and sound

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i
const WEB = /^https?:/i
const SCHEME = /^\s*([a-z][a-z0-9+.-]*):/i
const UNKNOWN = 'application/octet-stream'

/**
 * A page of a document has at least so many bytes: its count cannot be seen in its base64. So a short text may count as
 * several pages; a document is never counted as more than the model's `max_input`.
 */
const PAGE_BYTES = 4096
/** A second of sound has at least so many: 6 kbit/s compressed, and 8 bits at 8 kHz as plain samples. */
const SOUND_BYTES_PER_S = 750
const SAMPLES_PER_S = 8000
const SAMPLES = /^audio\/(x-)?(wave?|pcm(16)?|l16|vnd\.wave)\b/i

/** Base64 that stands in the body: its kind and size tell what it may come to; it is not text. */
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

/** A URL that is none of the web: providers have such names for what somebody put into their store. */
function namesStored(head: string): boolean {
  const scheme = SCHEME.exec(head)?.[1]?.toLowerCase()
  return scheme !== undefined && !['http', 'https', 'data'].includes(scheme)
}

/** The URL or the bare base64 that `head` begins: a data URL has it inside, and other URLs are fetched. */
function fetched(draft: Draft, head: string, length: number, picture: boolean): void {
  const found = DATA_URL.exec(head)
  if (found !== null) inline(draft, found[1] || UNKNOWN, length - found[0].length)
  else if (namesStored(head)) refuse(draft, 'url')
  else if (picture) draft.prompt.remotePictures++
  else draft.prompt.remoteDocuments++
}

/** The data of a frame, which may be bare base64 too. */
export function inlineOrFetched(draft: Draft, { head, dataLength }: Frame, bare = UNKNOWN): void {
  if (dataLength <= 0) return
  if (DATA_URL.test(head) || WEB.test(head) || namesStored(head)) fetched(draft, head, dataLength, false)
  else inline(draft, bare, dataLength)
}

const readUrl =
  (picture: boolean): Read =>
  (draft, value) => {
    const length = value.end - value.start - 2
    if (value.kind === 'string' && value.text !== null && length > 0)
      fetched(draft, headOf(value.text), length, picture)
  }

/** A picture as a URL, which may have it inside. */
export const pictureUrl = readUrl(true)
/** A document, film or sound as a URL, which may have it inside. */
export const documentUrl = readUrl(false)

/** Something that is on unless it says no. */
export const isOn = ({ kind, text }: Value): boolean =>
  !(kind === 'scalar' && text !== null && [false, null].includes(scalarOf(text) as boolean | null))

/** A tool that the upstream runs: what it finds becomes input, as often as it may be used. */
export function serverTool(draft: Draft, frame: Frame): void {
  if (frame.uses === null) draft.prompt.unlimitedTools++
  else draft.prompt.toolUses += frame.uses
}
