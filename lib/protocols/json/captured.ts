/**
 * The text of a key or value while it passes. A text within one chunk is cut out of it; of a text that goes on over several
 * chunks, each part is kept until the end is there, up to a limit. Most keys and values are among a few frequent ones, and
 * those are not made into strings again.
 */

const SLOTS = 512
/**
 * The hash is multiplied by this odd number, and its upper bits say the slot, because they differ most between texts.
 */
const SPREAD = 0x9e3779b1
const SHIFT = 23
const LONGEST = 24
/** A text is kept when it was read so often in a row in its slot: that takes longer than reading it, and a body may have a million names. */
const FREQUENT = 8

/** Short texts that were read before. */
class SeenTexts {
  readonly #texts: string[] = Array.from({ length: SLOTS }, () => '')
  /** The hash of the text that was read last in each slot and is not kept, and how often. */
  readonly #others = new Int32Array(SLOTS)
  readonly #times = new Uint8Array(SLOTS)
  readonly #pattern: RegExp | null

  /** `pattern`: texts that do not match are not returned; null = all are. */
  constructor(pattern: RegExp | null) {
    this.#pattern = pattern
  }

  /** Returns the text between `from` and `end`; null = it is too long, not kept and not copied, or does not match the pattern. */
  at(text: string, from: number, end: number): string | null {
    const length = end - from
    if (length < 2 || length > LONGEST) return null
    const ends = (text.charCodeAt(from) << 16) ^ (text.charCodeAt(from + 1) << 8) ^ text.charCodeAt(end - 2)
    const hash = Math.imul(ends ^ (text.charCodeAt(end - 1) << 24) ^ length, SPREAD)
    const slot = hash >>> SHIFT
    const seen = this.#texts[slot] as string
    if (seen.length === length && text.startsWith(seen, from)) return seen
    const isFrequent = this.#isFrequent(slot, hash)
    if (!isFrequent && length > COPIED) return null
    const found = text.slice(from, end)
    if (this.#pattern !== null && !this.#pattern.test(found)) return null
    return isFrequent ? (this.#texts[slot] = unique(found)) : found
  }

  #isFrequent(slot: number, hash: number): boolean {
    const times = this.#others[slot] === hash ? (this.#times[slot] as number) + 1 : 1
    this.#others[slot] = hash
    this.#times[slot] = times % FREQUENT
    return times >= FREQUENT
  }
}

/** An object in the engine's dictionary mode, which never has more than one member. */
const NAMES = Object.create(null) as Record<string, boolean>

/**
 * Returns the engine's own copy of a text. A map finds such a copy faster, and the copy does not keep the larger text
 * in memory from which it was cut.
 */
function unique(text: string): string {
  NAMES[text] = true
  const [name] = Object.keys(NAMES)
  delete NAMES[text]
  return name as string
}

/** Up to this length the engine copies a part of a text; a longer part would keep the whole text in memory. */
const COPIED = 12

const PLAIN_KEY = /^[ !#-[\]-~]*$/

const KEYS = new SeenTexts(PLAIN_KEY)
const VALUES = new SeenTexts(null)

export class CapturedText {
  /** The parts of the text that came in earlier chunks. */
  #kept = ''
  #limit = 0
  /** The place where the text begins in this chunk; -1 = it is not captured. */
  #from = -1

  /** The text so far, when the last chunk has ended before it. */
  get kept(): string {
    return this.#kept
  }

  /** A key or value begins at `at`. `limit`: how many bytes of it are wanted; 0 = none. */
  begin(at: number, limit: number): void {
    this.#kept = ''
    this.#limit = limit
    this.#from = limit > 0 ? at : -1
  }

  /** How many more bytes of the text are wanted. */
  get room(): number {
    return this.#from < 0 ? 0 : this.#limit - this.#kept.length
  }

  /** More of the text has gone by than is wanted. */
  pass(head: boolean): void {
    if (this.#from >= 0 && !head) this.#kept = ''
    this.#from = -1
  }

  /** What is read of a chunk ends at `end`, before the text does. `head`: the beginning of a text is kept that is too long. */
  endChunk(chunk: Buffer, end: number, head: boolean): void {
    const from = this.#from
    if (from < 0) return
    const room = this.#limit - this.#kept.length
    const fits = end - from <= room
    if (fits || head) this.#kept += chunk.toString('latin1', from, Math.min(end, from + room))
    else this.#kept = ''
    this.#from = fits ? 0 : -1
  }

  /**
   * Returns the text up to `end` of this chunk; null = it was too long, or not wanted. `text`: the chunk as Latin-1.
   */
  take(chunk: Buffer, text: string, end: number, head: boolean): string | null {
    const from = this.#from
    if (from < 0) return this.#kept === '' ? null : this.#kept
    this.#from = -1
    const room = this.#limit - this.#kept.length
    if (end - from > room && !head) return null
    if (this.#kept === '' && end - from <= room) {
      const short = end - from <= COPIED ? text.slice(from, end) : VALUES.at(text, from, end)
      if (short !== null) return short
    }
    return this.#kept + chunk.toString('latin1', from, Math.min(end, from + room))
  }

  /** Returns a key without its quotes when all of it is in this chunk and nothing in it is escaped, else null. */
  takeKey(text: string, end: number): string | null {
    const from = this.#from
    if (from < 0 || this.#kept !== '' || end - from > this.#limit) return null
    const key = KEYS.at(text, from + 1, end - 1)
    if (key !== null) this.#from = -1
    return key
  }
}
