/**
 * Hosted web search in answers: what a search has found, and which places of the text cite it. Upstreams tell of it before the text,
 * in the middle, behind it, or only by what they cite; and each protocol counts places in the text in its own way.
 */
import { decode } from '../protocols/json/text.ts'
import type { Citation, WebFindings, FoundSource } from './events.ts'
import { EMPTY_TEXT, type Literal } from './json/literal.ts'
import type { Node, Tree } from './json/tree.ts'

/** No honest answer has more. What is more is left out. */
const MOST_SOURCES = 1000
const MOST_NOTES = 1000
/** Bytes of what was found that are kept; behind them a source is told without its text. */
const MOST_BYTES = 1024 * 1024

/** What a reader knows of searches that have not been told. Where the client asked for none, nothing is kept. */
export class Searches {
  readonly #query: Literal | undefined
  readonly #issuer: string
  readonly #queries = new Set<Literal>()
  readonly #sources = new Map<Literal, FoundSource>()
  #isTold = false
  #isSeen = false
  #notes = 0
  held = 0

  /** `query`: what the client wanted to know, for upstreams that do not say what they searched for; undefined = it asked for no search. */
  constructor({ query, issuer }: { query?: Literal | undefined; issuer: string }) {
    this.#query = query
    this.#issuer = issuer
  }

  get isAsked(): boolean {
    return this.#query !== undefined
  }

  /** The upstream searched, though it may not say more. */
  saw(query?: Literal | null): void {
    this.#isSeen = true
    if (query && query !== EMPTY_TEXT && this.#queries.size < MOST_SOURCES) this.#queries.add(query)
  }

  /** A source, told in the order of the first mention. */
  add(source: FoundSource): void {
    const known = this.#sources.get(source.url)
    if (!this.isAsked || (known === undefined && this.#sources.size === MOST_SOURCES)) return
    if (known !== undefined && known.title !== EMPTY_TEXT) return
    const isLong = this.held + source.text.length > MOST_BYTES
    const kept = isLong ? { ...source, text: EMPTY_TEXT } : source
    this.#sources.set(source.url, kept)
    this.held += kept.url.length + kept.title.length + kept.text.length
  }

  /** False: there are too many. */
  cites({ url, title, text = EMPTY_TEXT }: Citation): boolean {
    this.add({ url, title, text, age: EMPTY_TEXT })
    return ++this.#notes <= MOST_NOTES
  }

  /** A search of which all is known; null = the client asked for none. */
  whole(queries: readonly Literal[], sources: readonly FoundSource[], isFailed: boolean): WebFindings | null {
    this.#isTold = true
    if (this.#query === undefined) return null
    const said = queries.length === 0 ? [this.#query] : queries
    return { queries: said, sources: sources.slice(0, MOST_SOURCES), isFailed, issuer: this.#issuer }
  }

  /** At the end of the answer: what was not told as a search. null = nothing. */
  rest(): WebFindings | null {
    const isAny = this.#isSeen || (this.#sources.size > 0 && !this.#isTold)
    return isAny ? this.whole([...this.#queries], [...this.#sources.values()], false) : null
  }
}

/** A source of an upstream; the names are those of its members. null = it has no address. */
export function sourceIn(
  tree: Tree,
  node: Node,
  { url = 'url', title = 'title', text = '', age = '' }: { url?: string; title?: string; text?: string; age?: string },
): FoundSource | null {
  const address = tree.literal(node, url)
  if (address === null || address === EMPTY_TEXT) return null
  const read = (name: string): Literal => tree.literal(node, name) ?? EMPTY_TEXT
  return { url: address, title: read(title), text: read(text), age: read(age) }
}

export const sourcesIn = (tree: Tree, list: Node, names: Parameters<typeof sourceIn>[2] = {}): FoundSource[] =>
  tree
    .elements(list)
    .map(node => sourceIn(tree, node, names))
    .filter(source => source !== null)

// --- places in the text

/** The text whose places can be told; places behind it are told as its end. */
const LONGEST_TEXT = 1024 * 1024
/** Characters between two places of which all counts are known. */
const STEP = 512

interface Mark {
  units: number
  chars: number
  bytes: number
}

/** How a place is counted. */
export type PlaceUnit = Citation['at']

/** The text of an answer, for places in it that one protocol counts otherwise than another. Characters are code points. */
export class TextPlaces {
  #text = ''
  #chars = 0
  #bytes = 0
  readonly #marks: Mark[] = []
  /** Where each text block begins, in characters. */
  readonly #starts = new Map<number, number>()

  open(index: number): void {
    this.#starts.set(index, this.#chars)
  }

  /** Returns how many bytes are kept of it. Blocks that are no text are left out. */
  add(index: number, literal: Literal): number {
    if (!this.#starts.has(index) || this.#text.length > LONGEST_TEXT) return 0
    const text = decode(literal) ?? ''
    for (let at = 0; at < text.length; ) {
      let end = Math.min(text.length, at + STEP)
      if (isHigh(text.charCodeAt(end - 1)) && end < text.length) end++
      this.#step(text.slice(at, end))
      at = end
    }
    return text.length
  }

  #step(text: string): void {
    const last = this.#marks.at(-1)?.units ?? -STEP
    if (this.#text.length - last >= STEP)
      this.#marks.push({ units: this.#text.length, chars: this.#chars, bytes: this.#bytes })
    this.#text += text
    this.#chars += charsOf(text)
    this.#bytes += Buffer.byteLength(text)
  }

  /** The citation with its place counted so. */
  told(index: number, citation: Citation, unit: PlaceUnit): Citation {
    const [start, end] = this.#inAnswer(index, citation)
    const told = (chars: number): string => {
      if (unit === 'bytes') return String(this.#bytesAt(chars))
      return String(unit === 'block' ? Math.max(0, chars - (this.#starts.get(index) ?? 0)) : chars)
    }
    return { ...citation, start: told(start), end: told(end) }
  }

  /** In characters of the whole answer. */
  #inAnswer(index: number, { at, start, end }: Citation): [number, number] {
    const from = this.#starts.get(index) ?? 0
    const read = (place: string): number => {
      const count = Number(place)
      const chars = at === 'bytes' ? this.#charsAt(count) : at === 'block' ? from + count : count
      return Math.min(chars, this.#chars)
    }
    return [read(start), read(end)]
  }

  #charsAt(bytes: number): number {
    const mark = this.#markAt('bytes', bytes)
    const near = Buffer.from(this.#near(mark)).subarray(0, Math.max(0, bytes - mark.bytes))
    return mark.chars + charsOf(near.toString())
  }

  #bytesAt(chars: number): number {
    const mark = this.#markAt('chars', chars)
    return mark.bytes + Buffer.byteLength(firstOf(this.#near(mark), chars - mark.chars))
  }

  /** The text between two places in bytes. */
  between(start: number, end: number): string {
    const units = (bytes: number): number => {
      const mark = this.#markAt('bytes', bytes)
      return (
        mark.units +
        Buffer.from(this.#near(mark))
          .subarray(0, bytes - mark.bytes)
          .toString().length
      )
    }
    return this.#text.slice(units(start), units(end))
  }

  #near({ units }: Mark): string {
    return this.#text.slice(units, units + 3 * STEP)
  }

  /** The last mark that is not behind the place. */
  #markAt(of: 'bytes' | 'chars', place: number): Mark {
    let low = 0
    let high = this.#marks.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#marks[middle] as Mark)[of] <= place) low = middle + 1
      else high = middle
    }
    return this.#marks[low - 1] ?? { units: 0, chars: 0, bytes: 0 }
  }
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00

/** Code points. */
export function charsOf(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function firstOf(text: string, chars: number): string {
  let units = 0
  let left = chars
  for (const char of text) {
    if (left-- <= 0) break
    units += char.length
  }
  return text.slice(0, units)
}
