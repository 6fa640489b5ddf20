/** An answer the upstream compressed although asked not to: decoded beside its way to the client, for the meter only. */

import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { bytesAsText } from '../protocols/patterns.ts'
import type { Meter } from '../protocols/protocol.ts'

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

export class SideDecoder {
  readonly #stream: Transform
  /** It is not what its header says. */
  broken = false

  constructor(stream: Transform, meter: Meter) {
    this.#stream = stream
    stream.on('data', (chunk: Buffer) => meter.feed(chunk, bytesAsText(chunk)))
    stream.on('error', () => {
      this.broken = true // the meter has seen what could be read
    })
  }

  /** False: wait for `drained` before the next chunk, so that what is decoded stays bounded. */
  write(chunk: Buffer, drained: () => void): boolean {
    if (this.broken || this.#stream.write(chunk)) return true
    const stream = this.#stream
    const go = () => {
      stream.off('drain', go)
      stream.off('error', go)
      drained()
    }
    stream.once('drain', go)
    stream.once('error', go)
    return false
  }

  /** `done` once the meter has all of the chunk. */
  read(chunk: Buffer, done: () => void): void {
    if (this.broken) done()
    else this.#stream.write(chunk, done)
  }

  /** `done` once the meter has everything. */
  end(done: () => void): void {
    if (this.broken) {
      done()
      return
    }
    let called = false
    const once = () => {
      if (!called) done()
      called = true
    }
    this.#stream.once('end', once)
    this.#stream.once('error', once)
    this.#stream.end()
  }
}

/** null = an encoding we do not know; the answer passes, and is charged by its bytes. */
export function decoderFor(encoding: string, meter: Meter): SideDecoder | null {
  const create = DECODERS[encoding]
  return create === undefined ? null : new SideDecoder(create(), meter)
}
