/** Answers of any length to callers who read slowly, or not at all. */
import { EventEmitter } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { AnswerPieces } from '../../lib/api/operation.ts'
import { sendPieces } from '../../lib/api/answer.ts'
import { TestClock } from '../support/clock.ts'
import { until } from '../support/wait.ts'

const PIECE = 'x'.repeat(256 * 1024)
/** More than the sockets of both sides hold. */
const PIECES = 400

/** A server that answers with many large pieces, and a caller who has read the head only. */
async function open(t: Test) {
  const clock = new TestClock()
  const seen = { made: 0, ended: false, mostBytes: 0 }
  async function* pieces(res: http.ServerResponse) {
    try {
      while (seen.made < PIECES) {
        seen.made++
        seen.mostBytes = Math.max(seen.mostBytes, res.writableLength)
        yield PIECE
      }
    } finally {
      seen.ended = true
    }
  }
  const server = http.createServer((_, res) => void sendPieces(res, pieces(res), clock))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const res = await new Promise<http.IncomingMessage>(resolve => http.get({ port, host: '127.0.0.1' }, resolve))
  res.on('error', () => {})
  t.teardown(() => res.destroy())
  return { clock, res, seen }
}

t.test('a piece is made when the one before has gone', async t => {
  const { res, seen } = await open(t)
  let bytes = 0
  for await (const chunk of res as AsyncIterable<Buffer>) bytes += chunk.length
  t.equal(bytes, PIECES * PIECE.length)
  t.ok(seen.ended)
  t.ok(seen.mostBytes < PIECE.length, `${seen.mostBytes} bytes waited`)
})

t.test('who takes nothing for a minute is cut off, and nothing more is made', async t => {
  const { clock, seen } = await open(t)
  await until('the pieces end', () => {
    clock.advance(1_000)
    return seen.ended
  })
  t.ok(seen.made < PIECES, `${seen.made} pieces`)
})

t.test('who leaves ends it', async t => {
  const { res, seen } = await open(t)
  res.destroy()
  await until('the pieces end', () => seen.ended)
  t.ok(seen.made < PIECES)
})

/** An answer whose caller takes each piece after so long. */
class Taken extends EventEmitter {
  destroyed = false
  ended = false
  writableNeedDrain = true
  pieces = 0
  readonly #clock: TestClock
  readonly #afterMs: number

  constructor(clock: TestClock, afterMs: number) {
    super()
    this.#clock = clock
    this.#afterMs = afterMs
  }

  write(): void {
    this.pieces++
    setImmediate(() => {
      this.#clock.advance(this.#afterMs)
      this.emit('drain')
    })
  }

  end(): void {
    this.ended = true
  }

  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

t.test('who takes a little now and then is cut off too, and who is slow is not', async t => {
  for (const [afterMs, cut] of [
    [59_000, true],
    [30_000, true],
    [9_000, true],
    [8_000, false],
    [100, false],
  ] as const) {
    const clock = new TestClock()
    const res = new Taken(clock, afterMs)
    async function* pieces() {
      for (let i = 0; i < PIECES; i++) yield PIECE
    }
    await sendPieces(res as unknown as http.ServerResponse, pieces(), clock)
    t.equal(res.destroyed, cut, `a piece of 256 KiB in ${afterMs} ms`)
    t.equal(res.ended, !cut)
    t.equal(res.pieces < PIECES, cut)
  }
})

t.test('who leaves while a piece is awaited ends it at once', async t => {
  const { promise: ended, resolve } = Promise.withResolvers<IteratorReturnResult<undefined>>()
  const pieces: AnswerPieces = {
    next: () => ended,
    return: async () => {
      resolve({ done: true, value: undefined })
      return ended
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
  const res = Object.assign(new Taken(new TestClock(), 0), { writableNeedDrain: false })
  const sent = sendPieces(res as unknown as http.ServerResponse, pieces, new TestClock())
  res.destroy()
  await sent
  t.notOk(res.ended, 'what is cut off has no end')

  const gone = new Taken(new TestClock(), 0)
  gone.destroyed = true
  await sendPieces(gone as unknown as http.ServerResponse, pieces, new TestClock())
  t.equal(gone.pieces, 0)
})
