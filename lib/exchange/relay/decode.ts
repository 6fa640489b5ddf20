/** An answer the upstream compressed although asked not to: decoded beside its way to the client, for the meter only. */

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
 * A few bytes may unfold to any number: what is more than so many times what came, and than so much in any case, is nothing
 * that an honest upstream sends.
 */
const MOST_TIMES = 1000
const MOST_BYTES = 16 * 1024 * 1024
const NOTHING = Buffer.alloc(0)

export interface DecoderEvents {
  onDecoded(chunk: Buffer): void
  /** `onDecoded` has thrown. */
  onFault(error: unknown): void
}

export class SideDecoder {
  readonly #stream: Transform
  readonly #events: DecoderEvents
  /** Whom the stream owes an answer: it gives none any more once it has ended. */
  readonly #waiting = new Set<() => void>()
  #taken = 0
  #given = 0
  /** The body is not in the encoding that its header names. */
  broken = false
  /** It has said all: what comes behind that is no part of it. */
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

  /** Nobody wants any more of it. */
  stop(): void {
    this.#waiting.clear()
    this.#over = true
    this.#stream.destroy()
  }

  /** Whatever comes first calls `done`: what is returned here, or the end of the stream. */
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

  /** `done` once the meter has all of the chunk. */
  read(chunk: Buffer, done: () => void): void {
    this.#taken += chunk.length
    if (this.#isDone) done()
    else this.#stream.write(chunk, this.#owe(done))
  }

  /** `done` once the meter has all that came, though the end of it be missing. */
  catchUp(done: () => void): void {
    if (this.#isDone) done()
    else if (this.#stream.writableEnded) this.#owe(done)
    else this.#stream.write(NOTHING, this.#owe(done))
  }

  /** `done` once the meter has everything. */
  end(done: () => void): void {
    if (this.#isDone) done()
    else {
      this.#owe(done)
      this.#stream.end()
    }
  }
}

/** null = an encoding we do not know; the answer passes, and is charged by its bytes. */
export function decoderFor(encoding: string, events: DecoderEvents): SideDecoder | null {
  const create = DECODERS[encoding]
  return create === undefined ? null : new SideDecoder(create(), events)
}
