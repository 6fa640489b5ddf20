/**
 * Decodes an answer that the upstream compressed although it was asked not to. Mostly only the meter gets what is decoded; the client
 * gets the bytes as they came. Decoding takes a moment, so whoever needs its result hands over a function to call.
 */
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/**
 * A few bytes may decode to any number of bytes. An honest upstream sends nothing that decodes to more than this many times its
 * length and to more than `MOST_BYTES`.
 */
const MOST_TIMES = 1000
const MOST_BYTES = 16 * 1024 * 1024
const NOTHING = Buffer.alloc(0)

interface DecoderEvents {
  onDecoded(chunk: Buffer): void
  /** `onDecoded` has thrown. */
  onFault(error: unknown): void
}

export class SideDecoder {
  readonly #stream: Transform
  readonly #events: DecoderEvents
  /** Functions that wait for the stream. They are all called when it ends, because it calls none itself then. */
  readonly #waiting = new Set<() => void>()
  #taken = 0
  #given = 0
  /** The body is not in the encoding that its header names. */
  broken = false
  /** The decoded answer is whole; what comes behind it is no part of it. */
  #over = false

  constructor(stream: Transform, events: DecoderEvents) {
    this.#stream = stream
    this.#events = events
    stream.on('data', (chunk: Buffer) => this.#onData(chunk))
    stream.on('end', () => {
      this.#over = true
      this.#answer()
    })
    stream.on('error', () => this.#breakOff()) // the meter has seen what could be read
  }

  #onData(chunk: Buffer): void {
    if (this.broken) return
    this.#given += chunk.length
    if (this.#given > Math.max(MOST_BYTES, MOST_TIMES * this.#taken)) this.#breakOff()
    else {
      try {
        this.#events.onDecoded(chunk)
      } catch (error) {
        this.#breakOff()
        this.#events.onFault(error)
      }
    }
  }

  #breakOff(): void {
    this.broken = true
    this.#stream.destroy()
    this.#answer()
  }

  /** Nobody wants any more of the answer. */
  stop(): void {
    this.#waiting.clear()
    this.#over = true
    this.#stream.destroy()
  }

  /** `done` is called once: by the function that is returned, or by the end of the stream, whichever comes first. */
  #owe(done: () => void): () => void {
    const once = () => {
      if (this.#waiting.delete(once)) done()
    }
    this.#waiting.add(once)
    return once
  }

  #answer(): void {
    for (const done of [...this.#waiting]) done()
  }

  get #isDone(): boolean {
    return this.broken || this.#over
  }

  /** False: wait for `drained` before the next chunk, so that what is decoded stays bounded. */
  write(chunk: Buffer, drained: () => void): boolean {
    this.#taken += chunk.length
    if (this.#isDone || this.#stream.write(chunk)) return true
    this.#stream.once('drain', this.#owe(drained))
    return false
  }

  /** Calls `done` when the meter has all of the chunk. */
  read(chunk: Buffer, done: () => void): void {
    this.#taken += chunk.length
    if (this.#isDone) done()
    else this.#stream.write(chunk, this.#owe(done))
  }

  /** Calls `done` when the meter has all that has come, even if the end of the answer is missing. */
  catchUp(done: () => void): void {
    if (this.#isDone) done()
    else if (this.#stream.writableEnded) this.#owe(done)
    else this.#stream.write(NOTHING, this.#owe(done))
  }

  /** Calls `done` when the meter has the whole answer. */
  end(done: () => void): void {
    if (this.#isDone) done()
    else {
      this.#owe(done)
      this.#stream.end()
    }
  }
}

/** null = the encoding is unknown. Such an answer is passed on, and charged by its bytes. */
export function decoderFor(encoding: string, events: DecoderEvents): SideDecoder | null {
  const create = DECODERS[encoding]
  return create === undefined ? null : new SideDecoder(create(), events)
}
