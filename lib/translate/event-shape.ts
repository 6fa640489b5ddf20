/**
 * The events of a stream are much alike: nearly all of them bring a piece of text and differ in nothing else. This class remembers the
 * event that was read last, when its text was all that it told, and finds the next events that differ from it only in their text, so
 * that these need not be read as JSON. What is compared are bytes; any other event is read the general way, and so is one whose text is
 * empty.
 *
 * Reading and writing an event takes 0.6 to 0.9 µs with this class and 2.0 to 2.8 µs without it (`npm run bench:micro -- translate`). All
 * that an untranslated event of a burst costs is 1.5 µs, and a translated one may cost twice that (docs/performance.md).
 *
 * Besides the text there are members that change with each event and that no reader looks at: the event's number, the tokens so far, and
 * characters that hide how long the text is.
 */
import { type AnswerEvent, NO_LOGPROBS } from './events.ts'
import { EMPTY_TEXT, flat, type Literal } from './json/literal.ts'
import { countEnd, NONE, type Node, stringEnd, type Tree } from './json/tree.ts'

const LONGEST_EVENT = 1024
/** The bytes that are compared as one text. */
const WINDOW = 8192
/** A text that is taken out of the window may keep all of it in memory: so many times as much as was told of it. */
const MOST_KEPT = 8
/** After so many events that were remembered for nothing, only one of so many more is. */
const MOST_TRIES = 4
const SELDOM = 16
/** The numbers that change, by the member in which they stand; '' = in none. */
const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  '': ['sequence_number'],
  usage: ['prompt_tokens', 'completion_tokens', 'total_tokens'],
  usageMetadata: ['promptTokenCount', 'candidatesTokenCount', 'totalTokenCount'],
}
/** Members with characters that hide how long the text is. */
const NOISE = ['obfuscation', 'p']
const EVENT_END = '\n\n'
const QUOTE = 0x22

interface Hole {
  start: number
  end: number
  is: 'text' | 'string' | 'number'
}

export class EventShape {
  /** What stands before each hole, and behind the last one. */
  #fixed: string[] = []
  #holes: Hole['is'][] = []
  /** What comes next may be another event of the same shape. */
  #isFresh = false
  /** How many events were read since the last likeness, how many of them were remembered, and after how many the next one is. */
  #read = 0
  #tries = 0
  #due = 0
  #text = ''

  /** The next event may be remembered, so that it should be read by itself. */
  get isDue(): boolean {
    return this.#read >= this.#due
  }

  /** An event is read the general way: what is remembered is not the last one any more. */
  forget(): void {
    this.#isFresh = false
    this.#read++
  }

  /** The last event, as it came, told only the string `text`; `tree` has its data. */
  learn(event: string, tree: Tree, text: Node): void {
    const base = event.length - EVENT_END.length - tree.text.length
    const isOneLine = base > 0 && event.endsWith(EVENT_END) && event.slice(base, -EVENT_END.length) === tree.text
    // where a CR ends a line, several events may stand here
    if (event.length > LONGEST_EVENT || !isOneLine || event.includes('\r')) return
    this.#tries++
    this.#due = this.#read + (this.#tries < MOST_TRIES ? 0 : SELDOM)
    this.#isFresh = true
    this.#fixed = []
    this.#holes = []
    let from = 0
    for (const { start, end, is } of holesIn(tree, text)) {
      this.#fixed.push(event.slice(from, base + start))
      this.#holes.push(is)
      from = base + end
    }
    this.#fixed.push(event.slice(from))
  }

  /**
   * Tells the events of this shape that stand in the chunk, which has events only, from `from` on. Returns where the last one ends. Behind
   * it stands something else, which may be thousands of comments: the shape is not looked for at each of them.
   */
  tell(chunk: Buffer, from: number, found: FoundEvents): number {
    let at = from
    while (this.#isFresh && at < chunk.length) {
      const text = chunk.toString('latin1', at, at + WINDOW)
      let told = 0
      let count = 0
      for (let end = this.#endOf(text, 0); end >= 0; end = this.#endOf(text, told)) {
        this.#read = this.#due = this.#tries = 0
        found.again(this.#text)
        told = end
        count++
      }
      if (told * MOST_KEPT < text.length) found.copyLast(count)
      at += told
      this.#isFresh = told > 0 && (at === chunk.length || text.length === WINDOW)
    }
    return at
  }

  /** Where the event ends that begins here; -1 = it has another shape, or is not whole. */
  #endOf(text: string, from: number): number {
    const holes = this.#holes
    let at = from
    for (let n = 0; ; n++) {
      const fixed = this.#fixed[n] as string
      // several times as fast as `startsWith`
      if (text.slice(at, at + fixed.length) !== fixed) return -1
      at += fixed.length
      if (n === holes.length) return at
      const is = holes[n]
      const end = is === 'number' ? countEnd(text, at) : text.charCodeAt(at) === QUOTE ? stringEnd(text, at + 1) : -1
      if (end < 0) return -1
      if (is === 'text') {
        if (end - at === EMPTY_TEXT.length) return -1
        this.#text = text.slice(at, end)
      }
      at = end
    }
  }
}

/** In the order in which they stand in the data. */
function holesIn(tree: Tree, text: Node): Hole[] {
  const holes: Hole[] = [{ ...tree.span(text), is: 'text' }]
  for (const name of NOISE) {
    const noise = tree.get(tree.root, name)
    if (tree.kind(noise) === 'string') holes.push({ ...tree.span(noise), is: 'string' })
  }
  for (const [member, names] of Object.entries(NUMBERS)) {
    const object = member === '' ? tree.root : tree.get(tree.root, member)
    for (const name of names) {
      const node = tree.get(object, name)
      if (tree.number(node) !== null) holes.push({ ...tree.span(node), is: 'number' })
    }
  }
  return holes.sort((a, b) => a.start - b.start)
}

/** What a reader has found in an answer since it was last asked, and whether another event like the last one would tell just as much. */

export class FoundEvents {
  #events: AnswerEvent[] = []
  /** The block of the last delta, and the value in the upstream's event that is its text as it stands; NONE = there is none. */
  #block = -1
  #source: Node = NONE
  /** How many events there were when the reader began with the last event of its upstream. */
  #from = 0
  #isKept = false

  /** The texts of the last deltas get memory of their own, so that they do not keep what they were taken from. */
  copyLast(count: number): void {
    for (let at = this.#events.length - count; at < this.#events.length; at++) {
      const event = this.#events[at] as AnswerEvent
      if (event.type === 'delta') this.#events[at] = { ...event, text: flat(event.text) }
    }
  }

  /** Another event of the upstream is read. */
  next(): void {
    this.#from = this.#events.length
    this.#isKept = false
  }

  /** What the event says, or what it means, depends on what the reader keeps in mind of this or of other events, so that each one like it must be read. */
  keeps(): void {
    this.#isKept = true
  }

  add(event: AnswerEvent): void {
    this.#events.push(event)
  }

  /** `source`: the value that `text` is; NONE = it was made. */
  delta(index: number, text: Literal, source: Node, logprobs = NO_LOGPROBS): void {
    this.#block = index
    this.#source = logprobs.length === 0 ? source : NONE
    this.#events.push({ type: 'delta', index, text, ...(logprobs.length === 0 ? {} : { logprobs }) })
  }

  /** More of what the last delta belongs to. */
  again(text: Literal): void {
    this.#events.push({ type: 'delta', index: this.#block, text })
  }

  /**
   * The value whose text is all that was found in the event: with another text in its place that text would have been found, and
   * nothing else. NONE = something else was found.
   */
  get onlySource(): Node {
    const isOne = this.#events.length === this.#from + 1 && this.#events[this.#from]?.type === 'delta'
    return isOne && !this.#isKept ? this.#source : NONE
  }

  take(): readonly AnswerEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }
}
