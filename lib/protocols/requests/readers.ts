/** Readers of values that the bodies of several protocols share. Each writes down in the draft what a value says. */

import { decode, parse, scalarOf } from '../json/text.ts'
import { ALL_MAXIMA, askedEffort, MAXIMUM_NAMES, type MaximumName, maximumBit, moreEffort } from '../words/maxima.ts'
import { tierName } from '../words/reports.ts'
import { MOST_TOKENS, type PictureKind, type TierNames, UNSAID } from '../words/usage.ts'
import { added, type Draft } from './facts.ts'
import { DATA_HEAD, type PlaceFrame, Place, type Read, type Value } from './places.ts'

/** The most other models that a request may name; no honest request names more. */
const MOST_MODELS = 16

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * The largest number that any reader may see in a value: a fraction is rounded up, a text is read as a number. null =
 * nothing is named. A value that cannot be read counts as the largest number, and so does a negative one, which some
 * readers take for "no limit".
 */
export function numberIn({ kind, text }: Value): number | null {
  let value: unknown
  if (text !== null && kind === 'scalar') value = scalarOf(text)
  else if (text !== null && kind === 'string') {
    const number = decode(text)?.trim() ?? ''
    value = DECIMAL.test(number) ? Number(number) : undefined
  }
  if (value === null) return null
  return typeof value === 'number' && value >= 0 ? Math.min(MOST_TOKENS, Math.ceil(value)) : MOST_TOKENS
}

/** Reads a maximum of output tokens under one of its names. The largest of all counts; 0 names none. */
export const maximum = (name: MaximumName | 'maxOutputTokens'): Read => {
  const bit = maximumBit(name)
  return (draft, value) => {
    const tokens = numberIn(value) || null
    if (tokens === null) return
    draft.maximum = largest(draft.maximum, tokens)
    draft.maxima |= bit
  }
}

/** Reads what an answer may hold at least, whatever its maximum is. 0 says nothing. */
export const raiseMaximum: Read = (draft, value) => {
  draft.maximum = largest(draft.maximum, numberIn(value) || null)
}

/** Reads a word for how hard the model shall think. */
export const effort: Read = (draft, value) => {
  if (!isNull(value)) draft.effort = moreEffort(draft.effort, askedEffort(capturedString(value)))
}

/** Reads whether the model shall think, where nothing says how hard: it shall, unless the value is `false` or `null`. */
export const thinks: Read = (draft, value) => {
  if (!isNull(value)) draft.effort = moreEffort(draft.effort, isOn(value) ? 'on' : 'none')
}

/** Reads how many tokens the model may think: 0 means none, and what cannot be read any number. */
export const thinkingBudget: Read = (draft, value) => {
  const tokens = numberIn(value)
  if (tokens === null) return
  draft.thinkingBudget = Math.max(draft.thinkingBudget, tokens)
  draft.effort = moreEffort(draft.effort, tokens === 0 ? 'none' : 'on')
}

/** The same of a budget that belongs to the maximum, which some upstreams raise to it. */
export const budgetWithin: Read = (draft, value, frame) => {
  raiseMaximum(draft, value, frame)
  if (numberIn(value)) draft.effort = moreEffort(draft.effort, 'on')
}

/** A request begins whose answer has no tokens of output. */
export const writesNothing = (draft: Draft): void => {
  draft.maximum = 0
  draft.maxima = ALL_MAXIMA
}

/** Reads how many answers are wanted. */
export const answers: Read = (draft, value) => {
  draft.n = Math.max(draft.n, numberIn(value) ?? 1)
}

/** Reads of how many answers the best are wanted. */
export const bestOf: Read = (draft, value) => {
  draft.bestOf = Math.max(draft.bestOf, numberIn(value) ?? 1)
}

const largest = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b)

/** The text of a string that was captured whole, else null. */
export const capturedString = ({ kind, text }: Value): string | null =>
  kind === 'string' && text !== null ? decode(text) : null

export const isTrue = ({ kind, text }: Value): boolean => kind === 'scalar' && text !== null && scalarOf(text) === true

export const isNull = ({ kind, text }: Value): boolean => kind === 'scalar' && text !== null && scalarOf(text) === null

const refuse = (draft: Draft, field: string): void => {
  draft.invalid ??= field
}

export const LONGEST_MODEL_NAME = 1024
const LONGEST_ID = 4096
/** Who asks for a model that nobody has is told so, whether its name stands in the body or in the path. */
const LONGEST_PATH = 64 * 1024

export const model = {
  limit: LONGEST_PATH,
  read: (draft: Draft, value: Value): void => {
    if (isNull(value)) return
    draft.modelSpan = { start: value.start, end: value.end }
    draft.model = capturedString(value)
    draft.modelIsString = draft.model !== null
  },
}

/** The most places of a body in which the model of the path may be named again. */
const MOST_REPEATS = 2048

/** Reads the name of the model where a body repeats it. The names must be the same everywhere. */
export const repeatedModel = {
  limit: LONGEST_PATH,
  read: (draft: Draft, value: Value): void => {
    const isFirst = draft.repeatedModels.length === 0
    const name = capturedString(value)
    if (name === null || draft.repeatedModels.length >= MOST_REPEATS || !(isFirst || name === draft.model))
      refuse(draft, 'model')
    else {
      draft.repeatedModels = added(draft.repeatedModels, { start: value.start, end: value.end })
      if (isFirst) model.read(draft, value)
    }
  },
}

/** Reads the name of another model that the upstream may use for the request. */
export const otherModel = {
  limit: LONGEST_MODEL_NAME,
  read: (draft: Draft, value: Value): void => {
    const name = capturedString(value)
    if (name !== null && draft.otherModels.length < MOST_MODELS) draft.otherModels = added(draft.otherModels, name)
    else if (!isNull(value)) refuse(draft, 'model')
  },
}

/** Notes a tool by which the upstream asks another model. */
export function advisor(draft: Draft, { uses, maximum }: PlaceFrame): void {
  if (draft.advisors.length < MOST_MODELS) draft.advisors = added(draft.advisors, { uses, maximum })
  else refuse(draft, 'tools')
}

const flagOf = (draft: Draft, field: string, { kind, text }: Value): boolean => {
  const value = kind === 'scalar' && text !== null ? scalarOf(text) : undefined
  if (typeof value !== 'boolean' && value !== null) refuse(draft, field)
  return value === true
}

export const stream: Read = (draft, value) => {
  draft.stream = flagOf(draft, 'stream', value)
}

export const background: Read = (draft, value) => {
  draft.background = flagOf(draft, 'background', value)
}

export const promptCacheKey = {
  limit: LONGEST_MODEL_NAME,
  read: (draft: Draft, value: Value): void => {
    draft.promptCacheKey = capturedString(value)
  },
}

export const userId = {
  limit: LONGEST_ID,
  read: (draft: Draft, value: Value): void => {
    draft.userId = capturedString(value) || null
  },
}

/**
 * Refuses a field that names something in a store of the upstream. The upstream's account is shared by all customers of
 * the gateway, so nobody may name what is stored there.
 */
export const stored =
  (field: string): Read =>
  (draft, value) => {
    const said = value.text === null ? undefined : parse(value.text)
    const nothing = said === null || said === '' || (Array.isArray(said) && said.length === 0)
    if (!nothing) refuse(draft, field)
  }

/** Members that a body has once, so that nobody knows which of two values counts. */
const SAID_ONCE: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'stream_options',
  'background',
  'previous_response_id',
  'max_tool_calls',
])

/**
 * The place `extra_body`, which proxies merge into the body: whatever matters there matters here. A maximum may be merged or
 * not, so it lowers nothing, and raises what it is larger than.
 */
export function extraBody(body: Place): Place {
  const place = new Place()
  for (const [name, { limit, read, inside }] of body.fields)
    if (SAID_ONCE.has(name)) place.has(name, stored(`extra_body.${name}`))
    else if ((MAXIMUM_NAMES as readonly string[]).includes(name)) place.has(name, raiseMaximum)
    else place.has(name, { limit, ...(read === null ? {} : { read }), ...(inside === null ? {} : { inside }) })
  return place
}

/** The same, where a body has little that matters: it is refused. */
export const noExtraBody = stored('extra_body')

/** Reads a service tier, a speed or a place. */
export const tier =
  (kind: keyof TierNames, field: string): Read =>
  (draft, value) => {
    if (isNull(value)) return
    const name = capturedString(value) ?? ''
    if (name === '') refuse(draft, field)
    else askTier(draft, kind, field, name)
  }

const USUAL = 'standard'

/**
 * Notes the name of a tier. A body may name several, for example one for each model to turn to: then the one counts that is
 * not the usual one, and two of these are refused, because nobody knows which of them costs more.
 */
function askTier(draft: Draft, kind: keyof TierNames, field: string, said: string): void {
  const name = tierName(said)?.toLowerCase() ?? null
  const before = draft.tiers[kind]
  if (name === null || name === before || (before !== null && name === USUAL)) return
  if (before === null || before === USUAL) draft.tiers = { ...draft.tiers, [kind]: name }
  else refuse(draft, field)
}

/** A name that says nothing. */
const ANY = 'auto'

/** Reads the size or the quality of pictures. What cannot be read, or is said twice and differently, says nothing. */
export const pictureSaid =
  (member: keyof PictureKind): Read =>
  (_draft, value, frame) => {
    if (isNull(value)) return
    const { [member]: before, ...rest } = frame.picture ?? UNSAID
    const name = capturedString(value)?.toLowerCase() || ANY
    frame.picture = { ...UNSAID, ...rest, [member]: before === null || before === name ? name : ANY }
  }

/** Notes pictures that are asked for. Where others were asked for before, only what both say alike is said. */
export function askPicture(draft: Draft, asked: PictureKind): void {
  const { size, quality } = draft.askedPicture ?? asked
  draft.askedPicture = { size: size === asked.size ? size : null, quality: quality === asked.quality ? quality : null }
}

/** Reads how long cache entries live. `short`: values for the shorter life; all others count as the longer one. */
export const ttl =
  (...short: string[]): Read =>
  (draft, value) => {
    if (!isNull(value) && !short.includes(capturedString(value) ?? '')) draft.cacheTtl = '1h'
  }

export const type: Read = (_draft, value, frame) => {
  frame.type = capturedString(value) ?? '?'
}

/** Reads how often a tool may be used. 0 counts as no limit, because some readers take it for a missing field. */
export const uses: Read = (_draft, value, frame) => {
  frame.uses = numberIn(value) || null
}

/** Tells whether a setting is on: it is, unless its value is `false` or `null`. */
export const isOn = ({ kind, text }: Value): boolean =>
  !(kind === 'scalar' && text !== null && [false, null].includes(scalarOf(text) as boolean | null))

// --- pictures, documents and sound: base64 in the body, or fetched by the upstream, and how much input each may come to

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
  frame.mime = capturedString(value) ?? '?'
}

/** Reads a string of data; its beginning will tell what it is. */
export const data = {
  limit: DATA_HEAD,
  read: (_draft: Draft, value: Value, frame: PlaceFrame): void => {
    if (value.kind !== 'string' || value.text === null) return
    frame.dataLength = value.end - value.start - 2
    frame.head = headOf(value.text)
  },
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

/** Tells whether a URL is not one of the web: providers use such URLs for files in a store of theirs. */
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
export function inlineOrFetched(draft: Draft, { head, dataLength }: PlaceFrame, bare = UNKNOWN): void {
  if (dataLength <= 0) return
  if (DATA_URL.test(head) || WEB.test(head) || namesStored(head))
    fetched(draft, head, dataLength, bare.startsWith('image/'))
  else inline(draft, bare, dataLength)
}

const urlOf = (picture: boolean): { limit: number; read: Read } => ({
  limit: DATA_HEAD,
  read(draft, value) {
    const length = value.end - value.start - 2
    if (value.kind === 'string' && value.text !== null && length > 0)
      fetched(draft, headOf(value.text), length, picture)
  },
})

/** Reads the URL of a picture, which may be a data URL. */
export const pictureUrl = urlOf(true)
/** Reads the URL of a document, film or sound, which may be a data URL. */
export const documentUrl = urlOf(false)
