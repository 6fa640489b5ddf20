/**
 * Estimates the output tokens of an answer from its content while it passes. Content is the value of certain keys
 * (`"content":"…"`), wherever they stand. Nothing is parsed and nothing is kept: the text is searched for the keys, and
 * the bytes between the quotes are counted, an escape as the bytes it stands for. Inside a string the quotes of a key
 * would be escaped, so a string never passes for a key.
 *
 * It is no scanner of JSON, because most of an answer is not looked at: the search for keys runs in the engine, and the events of one
 * stream are much alike, so that the text between two contents is first compared with the text that stood there before. That takes an event of
 * chat completions from 0.8 to 0.2 µs (`npm run bench:micro -- meter`), as what is compared need not be searched for markers either.
 */
import { Patterns } from '../json/patterns.ts'

/**
 * How the value of a key counts. `text`: a string of text. `encoded`: a string of base64. `whole`: an object or array,
 * which counts by its bytes between the outer brackets. `again`: a text that most streams repeat after its deltas, and
 * that some streams have only there. `thought`, `beside`: texts of which many answers say the same under a key of each kind, and
 * some under a key of one; whichever kind has more counts. `around`: an object of thoughts, which count under the keys in it.
 */
type ContentKind = 'text' | 'thought' | 'beside' | 'encoded' | 'whole' | 'again' | 'around'
const OTHERS = ['thought', 'beside', 'encoded', 'whole', 'around'] as const

/** The keys under which a protocol's answers have their content. They are made once, when the process starts. */
export class ContentKeys {
  readonly patterns: Patterns
  /** All keys but those of kind `again`, which are not searched any more once a text has come under another key. */
  readonly first: Patterns
  /** The keys that are not of kind `text`, with their quotes. */
  readonly #others: [string, ContentKind][] = []

  constructor(keys: Partial<Record<ContentKind, readonly string[]>>) {
    const quoted = (kind: ContentKind): string[] => (keys[kind] ?? []).map(key => `"${key}"`)
    for (const kind of [...OTHERS, 'again'] as const) for (const key of quoted(kind)) this.#others.push([key, kind])
    const first = [...quoted('text'), ...OTHERS.flatMap(quoted)]
    this.first = new Patterns(first)
    this.patterns = keys.again === undefined ? this.first : new Patterns([...first, ...quoted('again')])
  }

  /** Returns the kind of the key that ends at `end`, its quotes included. */
  kindAt(text: string, end: number): ContentKind {
    for (const [key, kind] of this.#others) if (text.startsWith(key, end - key.length)) return kind
    return 'text'
  }
}

/** The longest piece that is remembered. */
const LONGEST_ALIKE = 1024
/** After so many pieces that differ from each other, nothing more is remembered. */
const MOST_TRIES = 4

/** A piece of text that comes again and again at one point of a stream. */
class AlikePiece {
  #tries = MOST_TRIES
  text = ''
  /** None of the stream's markers stands in the piece. */
  isPlain = false
  /** The kind of the key with which the piece ends. */
  kind: ContentKind = 'text'

  /** `unsought`: the stream's markers, where nobody has looked for them in the piece; null = it is known to have none. */
  learn(text: string, unsought: Patterns | null, kind: ContentKind = 'text'): void {
    if (this.#tries === 0 || text.length > LONGEST_ALIKE) return
    this.#tries--
    this.isPlain = !unsought?.isIn(text)
    this.kind = kind
    this.text = Buffer.from(text, 'latin1').toString('latin1') // a copy: a slice would keep all it was cut from
  }

  /** The pieces of this stream differ from each other. */
  get isGivenUp(): boolean {
    return this.#tries === 0
  }
}

const LF = 0x0a
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const LETTER_U = 0x75
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** UTF-8 bytes of text per token, as measured over prose, code and tool calls. */
export const BYTES_PER_TOKEN = 4.4
/** `\uXXXX` stands for about three bytes of UTF-8. */
export const UNICODE_ESCAPE_BYTES = 3

/**
 * Bytes of base64 per token. Upstreams report a token for 1,000 to 3,000 bytes of pictures and speech. With this number
 * base64 always counts as something, and never as much as text of the same length.
 */
const ENCODED_PER_TOKEN = 1000
/** A stream of the responses protocol repeats a text after its deltas at most so often. */
const MOST_REPEATS = 4

const SEARCH = 0
const AFTER_KEY = 1
const BEFORE_VALUE = 2
const IN_TEXT = 3
const IN_VALUE = 4

export class ContentCounter {
  readonly #keys: ContentKeys
  /** See `feed`; null = there are none. */
  readonly #markers: Patterns | null
  #patterns: Patterns
  /**
   * The pieces that come again: from the beginning of a chunk to the end of its first key, from the end of a text to
   * the end of the next key, and from the end of the last text to the end of the chunk.
   */
  readonly #lead = new AlikePiece()
  readonly #gap = new AlikePiece()
  readonly #rest = new AlikePiece()
  #state = SEARCH
  #kind: ContentKind = 'text'
  /** The end of the last chunk, in which a key may have begun. */
  #tail = ''
  /** The last character was a backslash inside a string. */
  #escaped = false
  /** The number of hexadecimal digits of a `\u` escape that are still to come. */
  #skip = 0
  /** The number of brackets that are open in a value of kind `whole`; true when a string is open in it. */
  #depth = 0
  #quoted = false
  #fresh = false
  /** Bytes of each kind. */
  #text = 0
  #thought = 0
  /** True when an object of thoughts was seen. */
  #around = false
  #beside = 0
  #again = 0
  #encoded = 0
  /** The number of strings of base64 that have begun. */
  pieces = 0

  constructor(keys: ContentKeys, markers: Patterns | null) {
    this.#keys = keys
    this.#markers = markers
    this.#patterns = keys.patterns
  }

  /** True when some of the content is thoughts. */
  get thinks(): boolean {
    return this.#thought > 0 || this.#around
  }

  /** Returns the tokens so far, without `encoded` characters of base64, which are charged in another way. */
  tokens(encoded = 0): number {
    const text = Math.max(this.#text + Math.max(this.#thought, this.#beside), this.#again / MOST_REPEATS)
    return Math.ceil(text / BYTES_PER_TOKEN + Math.max(0, this.#encoded - encoded) / ENCODED_PER_TOKEN)
  }

  /**
   * `text`: bytes as Latin-1, of which those before `from` were counted already. `untilMarker`: it stops before what may have one of the
   * markers outside of a text of content, and returns where that is: most events differ from the one before in their text alone, which
   * tells that they have no marker without a search for it.
   */
  feed(text: string, from = 0, untilMarker = false): number {
    const markers = untilMarker ? this.#markers : null
    let i = from
    if (from === 0 && this.#state === SEARCH && this.#tail !== '') {
      if (markers?.isIn(text.slice(0, this.#patterns.longest))) return 0
      i = this.#acrossChunks(text)
    }
    let passed = from // the end of the last text
    while (i < text.length) {
      if (this.#state === SEARCH) {
        const next = this.#search(text, i, markers)
        if (next < 0) return i
        i = next
      } else if (this.#state === IN_TEXT) passed = i = this.#inText(text, i)
      else if (markers !== null) return i
      else if (this.#state === IN_VALUE) passed = i = this.#inValue(text, i)
      else passed = i = this.#between(text, i)
    }
    if (this.#state !== SEARCH) return text.length
    if (text.charCodeAt(text.length - 1) === LF)
      this.#tail = '' // no key goes on after the end of a line
    else this.#keepTail(text.slice(passed))
    return text.length
  }

  /** `text`: all behind the last key and its value. These are left out, because they would hide the next key. */
  #keepTail(text: string): void {
    const most = this.#patterns.longest - 1
    this.#tail = text.length >= most ? text.slice(-most) : (this.#tail + text).slice(-most)
  }

  /** Looks for a key that began in the last chunk. Returns where the search goes on in this chunk. */
  #acrossChunks(text: string): number {
    const before = this.#tail.length
    const joined = this.#tail + text.slice(0, this.#patterns.longest)
    const end = this.#patterns.endOfNext(joined, 0)
    // one that lies wholly in this chunk will be found there
    if (end <= before || end - before >= this.#patterns.longest) return 0
    return this.#found(text, this.#keys.kindAt(joined, end), end - before)
  }

  /** Moves to the position after the next key, or to the end. -1: there may be a marker before that. */
  #search(text: string, from: number, markers: Patterns | null): number {
    const alike = from === 0 ? this.#lead : this.#gap
    const rest = this.#rest
    const alikeEnd = from + alike.text.length
    if (alikeEnd > from && text.slice(from, alikeEnd) === alike.text && (markers === null || alike.isPlain))
      return this.#found(text, alike.kind, alikeEnd)
    if (rest.text.length === text.length - from && text.slice(from) === rest.text && (markers === null || rest.isPlain))
      return text.length
    // where pieces differ, one search of all that is left costs less than one for each
    if (markers !== null && alike.isGivenUp) return -1
    const end = this.#patterns.endOfNext(text, from)
    const piece = end < 0 ? text.slice(from) : text.slice(from, end)
    if (markers?.isIn(piece)) return -1
    const unsought = markers === null ? this.#markers : null
    if (end < 0) {
      rest.learn(piece, unsought)
      return text.length
    }
    const kind = this.#keys.kindAt(text, end)
    alike.learn(piece, unsought, kind)
    return this.#found(text, kind, end)
  }

  /** A key ends at `end`. Mostly a text follows it directly. */
  #found(text: string, kind: ContentKind, end: number): number {
    this.#kind = kind
    this.#around ||= kind === 'around'
    this.#tail = ''
    const isText = text.charCodeAt(end) === COLON && text.charCodeAt(end + 1) === QUOTE
    this.#state = isText ? IN_TEXT : AFTER_KEY
    this.#fresh = true
    return isText ? end + 2 : end
  }

  #between(text: string, from: number): number {
    for (let i = from; i < text.length; i++) {
      const c = text.charCodeAt(i)
      if (c === 0x20 || c === LF || c === 0x0d || c === 0x09) continue
      if (this.#state === AFTER_KEY && c === COLON) this.#state = BEFORE_VALUE
      else if (this.#state === BEFORE_VALUE) {
        this.#begin(c)
        return i + 1
      } else {
        this.#state = SEARCH
        return c === QUOTE ? i : i + 1
      }
    }
    return text.length
  }

  /** Begins a value, whose first byte tells what it is. */
  #begin(c: number): void {
    if (c === QUOTE) this.#state = IN_TEXT
    else if (this.#kind === 'whole' && (c === OPEN_OBJECT || c === OPEN_ARRAY)) {
      this.#state = IN_VALUE
      this.#depth = 1
      this.#quoted = false
    } else this.#state = SEARCH
  }

  #inText(text: string, from: number): number {
    if (this.#kind === 'encoded') return this.#inEncoded(text, from)
    let i = this.#escaped || this.#skip > 0 ? this.#escape(text, from) : from
    while (i < text.length) {
      let end = i
      let c = 0
      for (; end < text.length; end++) {
        c = text.charCodeAt(end)
        if (c === QUOTE || c === BACKSLASH) break
      }
      this.#add(end - i)
      if (end === text.length) return end
      if (c === QUOTE) {
        this.#state = SEARCH
        return end + 1
      }
      this.#add(1)
      this.#escaped = true
      i = this.#escape(text, end + 1)
    }
    return i
  }

  /** Base64 has no escapes that could hide its end, so the engine's own search finds the closing quote. */
  #inEncoded(text: string, from: number): number {
    const quote = text.indexOf('"', from)
    const end = quote < 0 ? text.length : quote
    if (this.#fresh && end > from) {
      this.#fresh = false
      this.pieces++
    }
    this.#encoded += end - from
    if (quote < 0) return end
    this.#state = SEARCH
    return end + 1
  }

  #add(bytes: number): void {
    if (this.#kind === 'again') this.#again += bytes
    else if (this.#kind === 'thought') this.#thought += bytes
    else if (this.#kind === 'beside') this.#beside += bytes
    else if (bytes > 0) {
      this.#text += bytes
      this.#patterns = this.#keys.first
    }
  }

  /** Moves over an escape, which may have begun in an earlier chunk. */
  #escape(text: string, from: number): number {
    let i = from
    if (this.#escaped && i < text.length) {
      this.#escaped = false
      if (text.charCodeAt(i++) === LETTER_U) {
        this.#skip = 4
        this.#add(UNICODE_ESCAPE_BYTES - 1)
      }
    }
    const skipped = Math.min(this.#skip, text.length - i)
    this.#skip -= skipped
    return i + skipped
  }

  /** Moves to the position after the bracket that closes the value. */
  #inValue(text: string, from: number): number {
    let i = from
    for (; i < text.length; i++) {
      const c = text.charCodeAt(i)
      if (this.#escaped) this.#escaped = false
      else if (c === QUOTE) this.#quoted = !this.#quoted
      else if (this.#quoted) this.#escaped = c === BACKSLASH
      else if (c === OPEN_OBJECT || c === OPEN_ARRAY) this.#depth++
      else if ((c === CLOSE_OBJECT || c === CLOSE_ARRAY) && --this.#depth === 0) {
        this.#state = SEARCH
        this.#add(i - from)
        return i + 1
      }
    }
    this.#add(i - from)
    return i
  }
}
