/** Bench of lib/upstream/http1-connection.ts: reads the answers of upstreams from the bytes of a connection. */
import { equal } from 'node:assert/strict'
import type * as ReaderModule from '../../lib/upstream/http1-connection.ts'
import { withSeed } from '../../test/support/random.ts'
import type { Bench, Case } from './bench.ts'
import { document, stream } from './workloads/answers.ts'
import { chunked, events, reads } from './workloads/chunks.ts'

const MAX_HEADER_BYTES = 65_536
const HEADERS =
  'content-type: text/event-stream; charset=utf-8\r\ndate: Sat, 21 Nov 2026 12:00:00 GMT\r\nserver: cloud\r\n' +
  'x-request-id: req_0123456789abcdef\r\nopenai-processing-ms: 123\r\nx-ratelimit-remaining-requests: 9999\r\n'

export const bench: Bench = async (lib, seed) => {
  const { AnswerParser } = await lib<typeof ReaderModule>('upstream/http1-connection.ts')
  const subject = (name: string, body: Buffer, answer: Buffer, pieces: readonly Buffer[]): Case => {
    const read = (onBody: (bytes: Buffer) => void) => {
      let ends = 0
      const reader = new AnswerParser(
        { onHead() {}, onBody, onEnd: () => void ends++, paused: false },
        MAX_HEADER_BYTES,
      )
      reader.expect()
      for (const piece of pieces) reader.feed(Buffer.from(piece)) // a copy, because the reader moves the bytes that it is given
      return ends
    }
    return {
      name,
      bytes: answer.length,
      check() {
        const told: Buffer[] = []
        equal(
          read(bytes => told.push(bytes)),
          1,
        )
        equal(Buffer.concat(told).equals(body), true)
      },
      run: () => read(() => {}),
    }
  }
  const small = document('chat', seed, 300).bytes
  const whole = Buffer.concat([head(`content-length: ${small.length}`), small])
  const burst = stream('chat', seed, 20_000, true).bytes
  const framed = Buffer.concat([head('transfer-encoding: chunked'), chunked(events(burst))])
  return [
    subject('reading a small answer', small, whole, [whole]),
    subject('reading a burst, an event a chunk', burst, framed, [framed]),
    subject('the same in pieces', burst, framed, reads(withSeed(seed), framed, 4096)),
  ]
}

const head = (length: string): Buffer => Buffer.from(`HTTP/1.1 200 OK\r\n${HEADERS}${length}\r\n\r\n`)
