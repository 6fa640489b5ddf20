/**
 * A failed responses stream of 188 KB, full of things that look like usage, stalled the process for half a second; a long
 * event in one-byte chunks did the same by moving what is kept of it once a byte. Work is counted here, not timed: bytes
 * looked at, and bytes moved, for each byte that came.
 */
// The bug behind these rows: work that grows with the square.
import t from 'tap'
import { lastObject } from '../../lib/protocols/json/last-members.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { Withholder } from '../../lib/protocols/answers/withhold.ts'
import { boundaryOf, partHeadOf } from '../../lib/protocols/requests/multipart.ts'
import { type Head, HeadReader } from '../../lib/upstream/http1-head.ts'
import { TALKING } from '../support/talking.ts'

/** How often a byte is read by its index. */
function reads(data: Buffer, look: (data: Buffer) => unknown): number {
  let count = 0
  const seen = new Proxy(data, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) count++
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  look(seen)
  return count
}

const SIZE = 16_000
const filled = (piece: string): string => piece.repeat(Math.ceil(SIZE / piece.length))

t.test('the last object of a name is found in one walk', async t => {
  const rows: [string, unknown][] = [
    [filled('"usage":{'), undefined],
    [`${filled('"usage":{')}"usage":{"a":1}}`, { a: 1 }],
    [filled('"usage":{},'), undefined],
    [filled('"usage":{}'), undefined],
    [`${filled('[')}${filled(']')}}`, undefined],
    [`{"x":"${filled('\\\\')}","usage":{"a":"}\\"{"},"b":[{}]}`, { a: '}"{' }],
    [`${filled('\\"')}`, undefined],
    [`{"usage":{"a":1},"x":{"usage":{"a":2}},"usage" : {"a":3} ,"z":"\\"usage\\":{}"}\n`, { a: 3 }],
    [`{"usage":{"a":1},"usage":{bad}}`, { a: 1 }],
    [`{"usage":{"a":1}} more`, undefined],
    [`{"usage":null}`, undefined],
    ['', undefined],
  ]
  for (const [text, want] of rows) {
    const data = Buffer.from(text)
    t.same(lastObject(data, 'usage', 1), want, text.slice(-60))
    const count = reads(data, seen => lastObject(seen, 'usage', 1))
    t.ok(count <= 4 * data.length + 16, `${count} reads of ${data.length} bytes: ${text.slice(0, 40)}`)
  }
  t.same(lastObject(Buffer.from('{"response":{"usage":{"a":1}}}'), 'usage', 2), { a: 1 })
  t.same(lastObject(Buffer.from('{"response":{"usage":{"a":1}}}'), 'usage', 1), undefined)
})

/** Bytes that are moved from buffer to buffer meanwhile. */
function moved(work: () => void): number {
  let bytes = 0
  const { copy, copyWithin } = Buffer.prototype
  const { concat } = Buffer
  Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<typeof copy>) {
    const count = Reflect.apply(copy, this, args) as number
    bytes += count
    return count
  }
  Buffer.prototype.copyWithin = function (this: Buffer, target: number, start: number, end = this.length) {
    bytes += end - start
    return copyWithin.call(this, target, start, end)
  }
  Buffer.concat = ((list: readonly Uint8Array[], length?: number) => {
    const joined = concat(list, length)
    bytes += joined.length
    return joined
  }) as typeof concat
  try {
    work()
  } finally {
    Object.assign(Buffer.prototype, { copy, copyWithin })
    Buffer.concat = concat
  }
  return bytes
}

/** More than is kept of one event. */
const LONG = 100_000
const MOST_MOVES = 20

const FRAMES: Record<string, string> = {
  'one long line': `data: {"choices":[{"delta":{"content":"${'x'.repeat(LONG)}"}}]}\n\n`,
  'lines of one byte': `${'data:x\n'.repeat(LONG / 6)}\n`,
  'long names': `event: ${'x'.repeat(LONG)}\n\n`,
  'many short events': 'data: {"choices":[]}\n\n'.repeat(LONG / 22),
}

t.test('each byte of a stream in one-byte chunks is moved a few times', async t => {
  for (const [what, text] of Object.entries(FRAMES)) {
    const bytes = Buffer.from(text)
    for (const protocol of TALKING) {
      const meter = protocolRow(protocol).meter({ events: true, lengthStop: true, cacheTtl: '5m' })
      const count = moved(() => {
        for (let at = 0; at < bytes.length; at++)
          meter.feed(bytes.subarray(at, at + 1), bytes.subarray(at, at + 1).toString('latin1'))
        meter.end(true)
      })
      t.ok(count < MOST_MOVES * bytes.length, `${protocol}, ${what}: ${count} moves of ${bytes.length} bytes`)
    }
    const withholder = new Withholder()
    let passed = 0
    const count = moved(() => {
      for (let at = 0; at < bytes.length; at++) {
        const out = withholder.push(bytes.subarray(at, at + 1), 0)
        for (const part of out === null ? [] : [out].flat()) passed += part.length
      }
    })
    t.equal(passed + (withholder.flush()?.length ?? 0), bytes.length)
    t.ok(count < 3 * MOST_MOVES * bytes.length, `withheld, ${what}: ${count} moves of ${bytes.length} bytes`)
  }
})

t.test('a document in one-byte chunks', async t => {
  const text = `{"error":{"x":"${'y'.repeat(LONG)}"},"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}`
  const bytes = Buffer.from(text)
  const meter = protocolRow('chat').meter({ events: false, lengthStop: false, cacheTtl: '5m' })
  const count = moved(() => {
    for (let at = 0; at < bytes.length; at++)
      meter.feed(bytes.subarray(at, at + 1), bytes.subarray(at, at + 1).toString('latin1'))
    meter.end(true)
  })
  t.match(meter, { usage: { input: 5, output: 6 } })
  t.ok(count < MOST_MOVES * bytes.length, `${count} moves of ${bytes.length} bytes`)
})

t.test('a head with thousands of lines of one name', t => {
  const { [Symbol.iterator]: walk } = Array.prototype
  let copied = 0
  const lines = 16_000
  Array.prototype[Symbol.iterator] = function (this: unknown[]) {
    copied += this.length
    return walk.call(this)
  }
  let head: Head | null
  try {
    head = new HeadReader().read(`HTTP/1.1 200 OK\r\ncontent-length: 5${'\r\na:'.repeat(lines)}`)
  } finally {
    Array.prototype[Symbol.iterator] = walk
  }
  t.equal(head?.headers['a']?.length, lines)
  t.ok(copied < lines, `${copied} are copied`)
  t.end()
})

/** Milliseconds of this thread, however busy the machine is: a square takes thousands for these heads, and one walk less than one. */
const MOST_MS = 500

t.test('heads of forms that are full of blanks', t => {
  const blanks = ' '.repeat(60_000)
  const form = `Content-Disposition: form-data; name="a"`
  const rows: [what: string, read: () => unknown][] = [
    ['a type', () => boundaryOf(`multipart/form-data; boundary=x${blanks}!`)],
    ['a type with a charset', () => boundaryOf(`multipart/form-data; boundary=x; charset=utf-8${blanks};${blanks}!`)],
    ['before the boundary', () => boundaryOf(`multipart/form-data${blanks};${blanks}!`)],
    ['a part', () => partHeadOf(`${form}${blanks}!`)],
    ['behind a semicolon', () => partHeadOf(`${form}${blanks};${blanks}!`)],
    ['many parameters', () => partHeadOf(`${form}${'; a=b '.repeat(10_000)}${blanks}!`)],
  ]
  for (const [what, read] of rows) {
    const before = process.threadCpuUsage()
    t.equal(read(), null, what)
    const { user, system } = process.threadCpuUsage(before)
    t.ok((user + system) / 1000 < MOST_MS, `${what}: ${(user + system) / 1000} ms`)
  }
  t.equal(boundaryOf('multipart/form-data; boundary=x \t; \t'), 'x')
  t.same(partHeadOf(`${form} ; `)?.name, 'a')
  t.end()
})
