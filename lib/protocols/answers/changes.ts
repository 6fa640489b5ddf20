/**
 * What changes an answer on its way to the client, piece by piece: events are taken out (`withhold.ts`), pieces get another form, and who
 * asked for it is told in the last usage what the answer cost. A piece is an event of a stream, an element of an array that comes in its place,
 * or a whole document. An answer of which nothing is to be changed never comes here.
 */
import { type Fields, fieldsOf, isFields } from '../json/text.ts'
import { EventCutter, HeldBytes, valueOfEvent, Withholder } from './withhold.ts'

/** The form of an answer, which says what its pieces are. */
type AnswerPieces = 'events' | 'array' | 'document'

/** The most bytes of an event or element that is changed, and of what waits behind it: those at the end of a stream may repeat all of it. */
const LONGEST_PIECE = 256 * 1024
const LONGEST_DOCUMENT = 1024 * 1024

/** What an answer goes through. All of it passes in the order in which it came. */
export interface AnswerChange {
  /** Takes a chunk and returns what may pass now; null = nothing yet. `matters`: see `Meter`; 0 = not known. */
  push(chunk: Buffer, matters: number): Buffer | Buffer[] | null
  /** The answer has ended. Returns what was held back; null = nothing. */
  flush(): Buffer | Buffer[] | null
  /** What is held back passes as it came; null = nothing is. */
  letGo(): Buffer | Buffer[] | null
  /** The answer ends before its piece does, which goes nowhere. Returns the whole pieces that waited; null = none did. */
  drop(): Buffer[] | null
  readonly heldBytes: number
  /** True when what has passed ends between two pieces. */
  readonly atBoundary: boolean
  /** True when whole events of content alone would pass as they are, so that they need not be pushed. */
  readonly passesContent: boolean
}

const listed = (bytes: Buffer | Buffer[] | null): Buffer[] =>
  bytes === null ? [] : Array.isArray(bytes) ? bytes : [bytes]
const passing = (out: Buffer[]): Buffer[] | null => (out.length === 0 ? null : out)

// --- what cuts an answer into pieces

type TakePiece = (piece: Buffer, out: Buffer[]) => void

class EventPieces extends EventCutter {
  readonly #take: TakePiece

  constructor(take: TakePiece) {
    super(LONGEST_PIECE)
    this.#take = take
  }

  protected override sort(event: Buffer, out: Buffer[]): void {
    this.#take(event, out)
  }
}

/** Hands over the pieces of an answer that is no stream of events. A piece that is too long passes as it comes. */
abstract class BytePieces {
  readonly #take: TakePiece
  readonly #longest: number
  readonly #held = new HeldBytes()
  /** What has come of the current piece has passed, and so does the rest. */
  #passing = false
  readonly atBoundary = false

  constructor(take: TakePiece, longest: number) {
    this.#take = take
    this.#longest = longest
  }

  abstract cut(chunk: Buffer): Buffer[] | null

  protected add(bytes: Buffer, out: Buffer[]): void {
    if (this.#passing) {
      out.push(bytes)
      return
    }
    this.#held.add(bytes)
    if (this.#held.length > this.#longest) out.push(this.letGo() as Buffer)
  }

  protected endPiece(out: Buffer[]): void {
    if (!this.#passing) this.#take(this.#held.take(), out)
    this.#passing = false
  }

  letGo(): Buffer | null {
    if (this.#held.length === 0) return null
    this.#passing = true
    return this.#held.take()
  }

  drop(): null {
    this.#held.take()
    return null
  }

  get heldBytes(): number {
    return this.#held.length
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const OPENS = new Set([BRACKET, 0x7b])
const CLOSES = new Set([0x5d, 0x7d])

/** The elements of a JSON array, each with what stands before it, and the array's end. The array itself may have begun elsewhere. */
class ArrayPieces extends BytePieces {
  #depth = 0
  #inString = false
  #isEscaped = false

  constructor(take: TakePiece) {
    super(take, LONGEST_PIECE)
  }

  override cut(chunk: Buffer): Buffer[] | null {
    const out: Buffer[] = []
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      if (!this.#ends(chunk[at] as number)) continue
      this.add(chunk.subarray(start, at + 1), out)
      start = at + 1
      this.endPiece(out)
    }
    if (start < chunk.length) this.add(chunk.subarray(start), out)
    return passing(out)
  }

  /** True: with this byte an element ends, or the array. */
  #ends(byte: number): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (this.#inString) {
      if (byte === QUOTE) this.#inString = false
      else this.#isEscaped = byte === BACKSLASH
    } else if (byte === QUOTE) this.#inString = true
    else if (OPENS.has(byte)) {
      if (this.#depth === 0 && byte !== BRACKET) this.#depth = 1
      this.#depth++
    } else if (CLOSES.has(byte)) return --this.#depth <= 1
    return false
  }
}

class WholeDocument extends BytePieces {
  constructor(take: TakePiece) {
    super(take, LONGEST_DOCUMENT)
  }

  override cut(chunk: Buffer): Buffer[] | null {
    const out: Buffer[] = []
    this.add(chunk, out)
    return passing(out)
  }
}

const cutter = (pieces: AnswerPieces, take: TakePiece): EventCutter | BytePieces =>
  pieces === 'events' ? new EventPieces(take) : pieces === 'array' ? new ArrayPieces(take) : new WholeDocument(take)

// --- the value of a piece

const OBJECT = '{'

const valueIn = (pieces: AnswerPieces, piece: Buffer): unknown =>
  pieces === 'events' ? valueOfEvent(piece) : parsed(piece.subarray(Math.max(0, piece.indexOf(OBJECT))))

function parsed(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString())
  } catch {
    return undefined
  }
}

function withValue(pieces: AnswerPieces, piece: Buffer, value: Fields): Buffer {
  const json = JSON.stringify(value)
  if (pieces !== 'events') return Buffer.concat([piece.subarray(0, piece.indexOf(OBJECT)), Buffer.from(json)])
  const lines = piece.toString().trimEnd().split(/\r?\n/)
  const others = lines.filter(line => !line.startsWith('data:'))
  return Buffer.from(`${[...others, `data: ${json}`].join('\n')}\n\n`)
}

// --- another form

/** Gives each piece another form. What is no JSON object, or is too long, passes as it came. */
class Rewriter implements AnswerChange {
  readonly passesContent = false
  readonly #pieces: AnswerPieces
  readonly #rewrite: (value: Fields) => Fields
  readonly #cutter: EventCutter | BytePieces

  constructor(pieces: AnswerPieces, rewrite: (value: Fields) => Fields) {
    this.#pieces = pieces
    this.#rewrite = rewrite
    this.#cutter = cutter(pieces, (piece, out) => void out.push(this.#rewritten(piece)))
  }

  #rewritten(piece: Buffer): Buffer {
    const value = valueIn(this.#pieces, piece)
    return isFields(value) ? withValue(this.#pieces, piece, this.#rewrite(value)) : piece
  }

  push(chunk: Buffer): Buffer[] | null {
    return this.#cutter.cut(chunk)
  }

  flush(): Buffer | null {
    const rest = this.#cutter.letGo()
    return rest === null ? null : this.#rewritten(rest)
  }

  letGo(): Buffer | null {
    return this.#cutter.letGo()
  }

  drop(): null {
    return this.#cutter.drop()
  }

  get heldBytes(): number {
    return this.#cutter.heldBytes
  }

  get atBoundary(): boolean {
    return this.#cutter.atBoundary
  }
}

// --- what the stream cost

/** What the upstream says of its own charge, of which clients are told nothing. */
const OF_UPSTREAM = ['cost', 'cost_details', 'is_byok']

/** Who is told what: the usage of a piece, where that may be the last one that has it, and the members; null = not known yet. */
export interface CostTold {
  usageOf(piece: Fields): unknown
  members(): Fields | null
}

/**
 * Tells a client that asked for it what its stream cost: the members stand in the last usage of the stream. That piece, and what
 * follows it, waits until the charge is known, which is when the end of the answer is in sight. Nothing else of the stream waits.
 */
class CostTeller implements AnswerChange {
  readonly passesContent = false
  readonly #pieces: AnswerPieces
  readonly #told: CostTold
  readonly #cutter: EventCutter | BytePieces
  /** The newest piece with usage, and what came behind it. */
  #waiting: Buffer[] = []
  #waitingBytes = 0

  constructor(pieces: AnswerPieces, told: CostTold) {
    this.#pieces = pieces
    this.#told = told
    this.#cutter = cutter(pieces, (piece, out) => this.#sort(piece, out))
  }

  push(chunk: Buffer): Buffer[] | null {
    const out = this.#cutter.cut(chunk) ?? []
    if (this.#waiting.length > 0 && this.#told.members() !== null) out.push(...this.#take())
    return passing(out)
  }

  #sort(piece: Buffer, out: Buffer[]): void {
    const isLast = piece.includes('sage') && isFields(this.#told.usageOf(fieldsOf(valueIn(this.#pieces, piece))))
    if (isLast) out.push(...this.#release())
    if (!isLast && this.#waiting.length === 0) out.push(piece)
    else {
      this.#waiting.push(Buffer.from(piece))
      this.#waitingBytes += piece.length
      if (this.#waitingBytes > 2 * LONGEST_PIECE) out.push(...this.#release())
    }
  }

  /** What waits, as it came. */
  #release(): Buffer[] {
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    return waiting
  }

  #take(): Buffer[] {
    const [first, ...rest] = this.#release()
    const members = this.#told.members()
    if (first === undefined || members === null) return first === undefined ? [] : [first, ...rest]
    const value = fieldsOf(valueIn(this.#pieces, first))
    const usage = fieldsOf(this.#told.usageOf(value))
    for (const name of OF_UPSTREAM) delete usage[name]
    Object.assign(usage, members)
    return [withValue(this.#pieces, first, value), ...rest]
  }

  flush(): Buffer[] | null {
    const out: Buffer[] = []
    const rest = this.#cutter.letGo()
    if (rest !== null) this.#sort(rest, out)
    return passing([...out, ...this.#take()])
  }

  letGo(): Buffer[] | null {
    return passing([...this.#release(), ...listed(this.#cutter.letGo())])
  }

  drop(): Buffer[] | null {
    this.#cutter.drop()
    return passing(this.#release())
  }

  get heldBytes(): number {
    return this.#cutter.heldBytes + this.#waitingBytes
  }

  get atBoundary(): boolean {
    return this.#cutter.atBoundary
  }
}

// --- several changes

/** Changes that an answer goes through one after the other. */
class Chain implements AnswerChange {
  readonly passesContent = false
  readonly #changes: readonly AnswerChange[]

  constructor(changes: readonly AnswerChange[]) {
    this.#changes = changes
  }

  push(chunk: Buffer, matters: number): Buffer[] | null {
    let out = [chunk]
    for (const [i, change] of this.#changes.entries())
      out = out.flatMap(part => listed(change.push(part, i === 0 ? matters : 0)))
    return passing(out)
  }

  flush(): Buffer[] | null {
    let out: Buffer[] = []
    for (const change of this.#changes)
      out = [...out.flatMap(part => listed(change.push(part, 0))), ...listed(change.flush())]
    return passing(out)
  }

  letGo(): Buffer[] | null {
    let out: Buffer[] = []
    for (const change of this.#changes) out = [...listed(change.letGo()), ...out]
    return passing(out)
  }

  drop(): Buffer[] | null {
    return passing(this.#changes.flatMap(change => change.drop() ?? []))
  }

  get heldBytes(): number {
    return this.#changes.reduce((sum, { heldBytes }) => sum + heldBytes, 0)
  }

  get atBoundary(): boolean {
    return this.#changes.at(-1)?.atBoundary ?? true
  }
}

export interface WantedChanges {
  pieces: AnswerPieces
  /** The events that are taken out: `usage`, or those of a type; null = none. */
  withheld: 'usage' | { type: string } | null
  /** Gives a piece another form; null = none does. */
  rewrite: ((value: Fields) => Fields) | null
  /** null = nobody asks what the answer cost. */
  cost: CostTold | null
}

/** At least one is wanted. */
export function changesOf({ pieces, withheld, rewrite, cost }: WantedChanges): AnswerChange {
  const changes: AnswerChange[] = []
  if (withheld !== null) changes.push(new Withholder(withheld === 'usage' ? null : withheld.type))
  if (rewrite !== null) changes.push(new Rewriter(pieces, rewrite))
  if (cost !== null) changes.push(new CostTeller(pieces, cost))
  return changes.length === 1 ? (changes[0] as AnswerChange) : new Chain(changes)
}
