/**
 * Undoes the `content-encoding` of a request's body while it arrives: zstd, gzip, deflate and br, at most two after each other. The
 * work is done in zlib's threads, and nothing is decoded before whoever reads has taken what came before. A few bytes may decode to any
 * number: every step is bounded by the limit of a body, and beyond 1 MiB by its ratio to what was sent; what is far more than was sent
 * is read slowly.
 */
import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'

type Coding = 'zstd' | 'gzip' | 'deflate' | 'br'
const CODINGS: Record<string, Coding | null> = {
  zstd: 'zstd',
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
  identity: null,
}

const MOST_CODINGS = 2
/** The most members of one coding, each of which takes an engine of its own: a few bytes may begin and end one. */
const MOST_MEMBERS = 256
const MOST_RATIO = 200
const FREE_OF_RATIO_BYTES = 1024 * 1024
/**
 * Usual bodies decode to less than so many times what was sent. Only what is beyond that is read slowly: conversations in which an agent has
 * read a file many times reach 20 to 50, and are few.
 */
const USUAL_RATIO = 10
const CHUNK_BYTES = 64 * 1024
/** The window of zstd is 8 MiB at most. */
const WINDOW_LOG = 23
/** What an engine takes before it has decoded anything, measured, with the piece that it writes into. */
const ENGINE_BYTES = 2 * CHUNK_BYTES
/** The most memory that a coding keeps of what it has decoded. */
const WINDOW_BYTES: Record<Coding, number> = {
  zstd: 2 ** WINDOW_LOG,
  br: 16 * 1024 * 1024,
  gzip: 32 * 1024,
  deflate: 32 * 1024,
}
const ZSTD_OPTIONS = { chunkSize: CHUNK_BYTES, params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG } }

/** The body is not what `content-encoding` says, or it ends too early, or something stands behind its end. */
export class BrokenCoding extends Error {
  override name = 'BrokenCoding'
}

/** What is decoded, or what was sent, is more than the limit or the ratio allows. */
export class DecodedTooLarge extends Error {
  override name = 'DecodedTooLarge'
}

/** There is no room for the windows of the codings. */
export class NoRoomToDecode extends Error {
  override name = 'NoRoomToDecode'
}

const NO_CODINGS: readonly Coding[] = []

/** The codings of a body in the order in which they are undone; none = it is as it is. null: one is unknown, or there are too many. */
export function codingsOf(header: string | undefined): readonly Coding[] | null {
  if (header === undefined || header === '') return NO_CODINGS
  const names = header
    .toLowerCase()
    .split(',')
    .map(name => name.trim())
  if (names.some(name => !Object.hasOwn(CODINGS, name))) return null
  const codings = names.flatMap(name => CODINGS[name] ?? []).reverse()
  return codings.length > MOST_CODINGS ? null : codings
}

/**
 * The pieces of the decoded body. `takeRoom` takes memory for engines and, as they fill, for their windows; false = there is none. Throws BrokenCoding,
 * DecodedTooLarge and NoRoomToDecode, and what the request throws when its connection breaks.
 */
export function decodedBody(
  req: IncomingMessage,
  codings: readonly Coding[],
  mostBytes: number,
  takeRoom: (bytes: number) => boolean,
  inflated: (bytes: number) => Promise<void> | null = () => null,
): AsyncIterable<Buffer> {
  const sent = new Counted(mostBytes)
  // a request that is refused goes on reading, so that its client can read the answer
  let pieces: AsyncIterable<Buffer> = sent.of(req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
  for (const coding of codings)
    pieces = new Counted(mostBytes, { sent, coding, takeRoom, inflated }).of(new Decoding(coding, pieces).pieces())
  return pieces
}

interface Decoded {
  /** What was sent, of which a decoded step is at most a multiple. */
  sent: Counted
  coding: Coding
  takeRoom: (bytes: number) => boolean
  /** Called with bytes beyond what is usual for what was sent. Resolves when they may be read; null = at once. */
  inflated: (bytes: number) => Promise<void> | null
}

/** Counts the bytes of a step, and bounds them. */
class Counted {
  #bytes = 0
  readonly #mostBytes: number
  /** null: the step is what was sent. */
  readonly #decoded: Decoded | null
  #roomBytes = 0
  /** The bytes beyond what is usual that were waited for. */
  #inflated = 0

  constructor(mostBytes: number, decoded: Decoded | null = null) {
    this.#mostBytes = mostBytes
    this.#decoded = decoded
  }

  async *of(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    if (this.#decoded?.takeRoom(ENGINE_BYTES) === false) throw new NoRoomToDecode()
    for await (const piece of pieces) {
      this.#bytes += piece.length
      if (this.#bytes > this.#mostBytes) throw new DecodedTooLarge()
      if (this.#decoded !== null) {
        this.#bound(this.#decoded)
        const { sent, inflated } = this.#decoded
        const more = this.#bytes - USUAL_RATIO * sent.#bytes - this.#inflated
        if (more > 0) await inflated(more)
        this.#inflated += Math.max(0, more)
      }
      yield piece
    }
  }

  #bound({ sent, coding, takeRoom }: Decoded): void {
    if (this.#bytes > FREE_OF_RATIO_BYTES && this.#bytes > MOST_RATIO * sent.#bytes) throw new DecodedTooLarge()
    const more = Math.min(this.#bytes, WINDOW_BYTES[coding]) - this.#roomBytes
    if (more > 0 && !takeRoom(more)) throw new NoRoomToDecode()
    this.#roomBytes += more
  }
}

const CREATE: Record<Exclude<Coding, 'deflate'>, () => Transform> = {
  zstd: () => createZstdDecompress(ZSTD_OPTIONS),
  gzip: () => createGunzip({ chunkSize: CHUNK_BYTES }),
  br: () => createBrotliDecompress({ chunkSize: CHUNK_BYTES }),
}

/** By their first bytes: which of two members that stand behind each other a coding allows. */
const MEMBERS: Partial<Record<Coding, (first: Buffer) => boolean>> = {
  gzip: first => first[0] === 0x1f,
  zstd: first => first[0] === 0x28 || (first[0]! & 0xf0) === 0x50,
}

/** One coding: takes pieces as they come, and gives what they decode to. */
class Decoding {
  readonly #coding: Coding
  readonly #source: AsyncIterator<Buffer>
  /** What stands behind the end of a member. */
  #left: Buffer | null = null

  constructor(coding: Coding, pieces: AsyncIterable<Buffer>) {
    this.#coding = coding
    this.#source = pieces[Symbol.asyncIterator]()
  }

  async *pieces(): AsyncGenerator<Buffer> {
    try {
      let members = 0
      for (let first = await this.#next(2); first !== null; ) {
        if (++members > MOST_MEMBERS) throw new BrokenCoding()
        yield* this.#member(first)
        first = await this.#next(1)
        if (first !== null && MEMBERS[this.#coding]?.(first) !== true) throw new BrokenCoding()
      }
    } finally {
      await this.#source.return?.()
    }
  }

  /** The next piece, of at least so many bytes where there are as many; null at the end. */
  async #next(least: number): Promise<Buffer | null> {
    let piece = this.#left
    this.#left = null
    while (piece === null || piece.length < least) {
      const more = await this.#source.next()
      if (more.done === true) break
      piece = piece === null ? more.value : Buffer.concat([piece, more.value])
    }
    return piece === null || piece.length === 0 ? null : piece
  }

  async *#member(first: Buffer): AsyncGenerator<Buffer> {
    const engine = this.#create(first)
    const fed = this.#feed(engine, first)
    fed.catch(error => engine.destroy(error as Error))
    try {
      for await (const piece of engine) yield piece as Buffer
      await fed
    } catch (error) {
      throw isOfZlib(error) ? new BrokenCoding() : error
    } finally {
      engine.destroy()
    }
  }

  #create(first: Buffer): Transform {
    if (this.#coding !== 'deflate') return CREATE[this.#coding]()
    // two readings of the word are in use: with the head of zlib, as it is meant, and without
    const isWrapped = (first[0]! & 0x0f) === 8 && ((first[0]! << 8) | (first[1] ?? 0)) % 31 === 0
    return isWrapped ? createInflate({ chunkSize: CHUNK_BYTES }) : createInflateRaw({ chunkSize: CHUNK_BYTES })
  }

  /** Gives the engine piece after piece, each when the one before is decoded, until its member or the body ends. */
  async #feed(engine: Transform, first: Buffer): Promise<void> {
    const over = new Promise<void>(resolve => void engine.once('end', resolve).once('close', resolve))
    let fed = 0
    for (let piece: Buffer | null = first; piece !== null; piece = await this.#next(1)) {
      const last: Buffer = piece
      fed += last.length
      const taken = new Promise<void>(resolve => engine.write(last, () => resolve()))
      await Promise.race([taken, over])
      const behind = fed - (engine as BrotliDecompress).bytesWritten
      if (behind > 0 || engine.readableEnded) {
        this.#left = behind > 0 ? last.subarray(last.length - behind) : null
        engine.end()
        return
      }
    }
    engine.end()
    await over
  }
}

const isOfZlib = (error: unknown): boolean => /^(?:Z_|ZSTD_|ERR_)/.test(String((error as NodeJS.ErrnoException).code))
