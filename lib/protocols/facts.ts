/** What a request body says, found by one scan of its bytes while it arrives. */
import type { Prompt } from '../terms/prompt.ts'
import type { Protocol } from '../terms/records.ts'
import { type Advisor, Draft, type Span, type StreamOptions } from './draft.ts'
import type { Field, Frame, Place, Value } from './places.ts'
import { BODIES } from './requests/table.ts'
import { JsonScanner, type Kind, type ScanEvents } from './scan.ts'

export interface Facts {
  /** Top-level `model`, decoded; null = missing. */
  model: string | null
  /** False: there is a `model`, and it is no string, or too long to be a name. */
  modelIsString: boolean
  /** The value of the `model` member, quotes included. */
  modelSpan: Span | null
  stream: boolean
  /** The largest maximum of output tokens that the protocol reads; null = none is named. 0 to 10^9. */
  maxOutput: number | null
  /** Output tokens of each answer that the maximum does not bound; null = there are some, and nobody says how many. */
  besideOutput: number | null
  /** How many answers are wanted; 1 to 10^6. */
  n: number
  /** `stream_options.include_usage === true`. */
  includeUsage: boolean
  streamOptions: StreamOptions | null
  background: boolean
  /** The longest life of a cache entry that the body asks for; null = it asks for none. */
  cacheTtl: '5m' | '1h' | null
  /** `prompt_cache_key`, `metadata.user_id`: which conversation this is. */
  promptCacheKey: string | null
  userId: string | null
  /** `previous_response_id`: the earlier answer that this request continues; null = none. */
  previousAnswer: string | null
  /** What the input is made of. */
  prompt: Prompt
  /** Tools of the upstream that make pictures, and how often all its tools may be used together; null = not said. */
  drawingTools: number
  maxToolCalls: number | null
  /** Passes by other models in the course of the answer. */
  advisors: readonly Advisor[]
  /** Names of models beside the request's own. */
  otherModels: readonly string[]
  /** A field that is refused: two readers could take it differently, or it names what we do not offer. */
  invalid: string | null
  /** A field that asks for a tier that may cost more than the list says. */
  dearTier: string | null
  /** Just after the opening brace. */
  openedAt: number
}

const MOST_N = 1e6
/** Pictures of a sequence whose length is not said. */
const LONGEST_SEQUENCE = 15

class OpenFrame implements Frame {
  owner: Frame | null = null
  place: Place | null = null
  isArray = false
  type = ''
  mime = ''
  dataLength = -1
  head = ''
  urls = 0
  uses: number | null = null
  maximum: number | null = null
  hasId = false
  hasRole = false
  seen = 0

  reset(place: Place, isArray: boolean, owner: Frame | null): void {
    this.owner = owner
    this.place = place
    this.isArray = isArray
    this.type = this.mime = this.head = ''
    this.dataLength = -1
    this.urls = this.seen = 0
    this.uses = this.maximum = null
    this.hasId = this.hasRole = false
  }
}

export class FactsScan implements ScanEvents {
  readonly #scanner = new JsonScanner(this, { heads: true })
  readonly #draft = new Draft()
  readonly #value: Value = { kind: 'scalar', start: 0, end: 0, text: null }
  /** The open objects and arrays that are looked into, outermost first; frames are used again. */
  readonly #frames: OpenFrame[] = [new OpenFrame()]
  #depth = 0
  #frame: OpenFrame
  /** Of the member under way. */
  #field: Field | null = null
  /** `#field` is that of the value that begins: it was looked up when the scanner asked whether to enter the value. */
  #isFound = false
  #bytes = 0

  constructor(protocol: Protocol) {
    this.#frame = this.#frames[0] as OpenFrame
    this.#frame.reset(BODIES[protocol], false, null)
  }

  feed(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#scanner.feed(chunk)
  }

  /** The field is found when its value begins, whatever that is. */
  #find(key: string): Field | null {
    const { place, isArray } = this.#frame
    if (place === null || isArray) return place?.element ?? null
    const field = place.fields.get(key)
    if (field === undefined) {
      const almost = place.almost(key)
      if (almost !== null) this.#draft.invalid ??= almost.name
      place.other?.(this.#draft, key)
      return null
    }
    if ((this.#frame.seen & field.bit) !== 0) this.#draft.invalid ??= field.name
    this.#frame.seen |= field.bit
    return field
  }

  wants(key: string): number {
    if (!this.#isFound) this.#field = this.#find(key)
    this.#isFound = false
    return this.#field === null || this.#field.read === null ? 0 : this.#field.limit
  }

  enter(key: string, kind: 'object' | 'array', start: number): boolean {
    const { place, isArray } = this.#frame
    if (isArray) {
      if (kind === 'array' || place === null) return false
      this.#push(place, false, start)
      return true
    }
    this.#field = this.#find(key)
    const inside = this.#field?.inside ?? null
    this.#isFound = inside === null || (inside.single && kind === 'array')
    if (this.#isFound || inside === null) return false
    this.#push(inside, kind === 'array', start)
    return true
  }

  #push(place: Place, isArray: boolean, start: number): void {
    const around = this.#frame
    const frame = (this.#frames[++this.#depth] ??= new OpenFrame())
    frame.reset(place, isArray, around.isArray ? around.owner : around)
    this.#frame = frame
    if (!isArray) place.begin?.(this.#draft, start)
  }

  leave(end: number): void {
    const { place, isArray } = this.#frame
    if (!isArray) place?.end?.(this.#draft, this.#frame, end)
    this.#frame = this.#frames[--this.#depth] as OpenFrame
  }

  member(key: string, kind: Kind, start: number, end: number, text: string | null): void {
    const field = kind === 'scalar' ? this.#find(key) : this.#field
    if (field === null || field.read === null) return
    const value = this.#value
    value.kind = kind
    value.start = start
    value.end = end
    value.text = text
    field.read(this.#draft, value, this.#frame)
  }

  /** null = not a JSON object. */
  end(): Facts | null {
    if (!this.#scanner.complete) return null
    const draft = this.#draft
    return {
      model: draft.model,
      modelIsString: draft.modelIsString,
      modelSpan: draft.modelSpan,
      stream: draft.stream,
      maxOutput: draft.maximum,
      besideOutput: draft.beside || (draft.thinks ? null : 0),
      n: Math.min(MOST_N, Math.max(draft.n, draft.sequence ? (draft.sequenceLimit ?? LONGEST_SEQUENCE) : 1)),
      includeUsage: draft.includeUsage,
      streamOptions: draft.streamOptions,
      background: draft.background,
      cacheTtl: draft.cacheTtl,
      promptCacheKey: draft.promptCacheKey,
      userId: draft.userId,
      previousAnswer: draft.previousAnswer,
      prompt: this.#prompt(),
      drawingTools: draft.drawingTools,
      maxToolCalls: draft.maxToolCalls,
      advisors: draft.advisors,
      otherModels: draft.otherModels,
      invalid: draft.invalid,
      dearTier: draft.dearTier,
      openedAt: this.#scanner.openedAt,
    }
  }

  #prompt(): Prompt {
    const { prompt, mediaBytes, previousAnswer, maxToolCalls } = this.#draft
    prompt.textBytes = this.#bytes - mediaBytes
    if (previousAnswer !== null) prompt.remoteDocuments++
    if (maxToolCalls !== null && prompt.unlimitedTools > 0) {
      prompt.toolUses = maxToolCalls
      prompt.unlimitedTools = 0
    }
    return prompt
  }
}
