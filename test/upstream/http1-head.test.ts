import t from 'tap'
import type { Dispatcher } from 'undici'
import { CHUNKED, type Head, HeadReader, RequestBytes, TO_END } from '../../lib/upstream/http1-head.ts'
import { seeded } from '../support/random.ts'

t.test('what a head says', async t => {
  const rows: [lines: string[], head: Partial<Head> | null][] = [
    [['HTTP/1.1 200 OK'], { status: 200, length: TO_END, keepAlive: false, keepAliveMs: null }],
    [['HTTP/1.1 201 ', 'content-length: 12'], { status: 201, length: 12, keepAlive: true }],
    [['HTTP/1.1 200 OK', 'transfer-encoding: chunked'], { length: CHUNKED, keepAlive: true }],
    [['HTTP/1.1 200 OK', 'content-length: 1', 'keep-alive: timeout=5, max=9'], { keepAliveMs: 5000 }],
    [['HTTP/1.1 200 OK', 'content-length: 1', 'keep-alive: max=9'], { keepAliveMs: null }],
    [['HTTP/1.1 200 OK', 'content-length: 1', 'connection: close'], { keepAlive: false }],
    [['HTTP/1.1 200 OK', 'content-length: 1', 'connection: closer'], { keepAlive: true }],
    [['HTTP/1.1 200 OK', 'content-length: 1', 'connection: a', 'connection: close'], { keepAlive: false }],
    [['HTTP/1.0 200 OK', 'content-length: 1'], { keepAlive: false }],
    [['HTTP/1.0 200 OK', 'content-length: 1', 'connection: keep-alive'], { keepAlive: true }],
    [['HTTP/1.1 304 Not Modified', 'content-length: 9'], { length: 0, keepAlive: true }],
    [['HTTP/1.1 204 No Content', 'content-length: 9'], { length: 0, keepAlive: false }],
    [['HTTP/1.1 100 Continue'], null],
    [['HTTP/1.1 103 Early Hints', 'link: x'], null],
  ]
  for (const [lines, head] of rows) {
    const found = new HeadReader().read(lines.join('\r\n'))
    if (head === null) t.equal(found, null, lines.join())
    else t.match(found, head, lines.join(' | '))
  }
})

t.test('headers keep their bytes', async t => {
  const head = new HeadReader().read(
    'HTTP/1.1 200 OK\r\nX-A: \t b \xa0 \r\nx-a:\r\nX-B: 1\r\nx-b: 2\r\nX-B: 3\r\n__proto__: p\r\ncontent-length: 0',
  )
  t.same(Object.entries(head?.headers ?? {}), [
    ['x-a', ['b \xa0', '']],
    ['x-b', ['1', '2', '3']],
    ['__proto__', 'p'],
    ['content-length', '0'],
  ])
})

t.test('heads of one upstream say the same whichever came before', async t => {
  const random = seeded(t)
  const first = ['HTTP/1.1 200 OK', 'HTTP/1.1 404 No', 'HTTP/1.0 200 OK', 'HTTP/1.1 100 Continue', 'HTTP/2 200', '']
  const pairs = [
    ...[
      'content-length: 1',
      'content-length: 12',
      'Content-Length: 1',
      'transfer-encoding: chunked',
      'content-length:',
    ],
    ...['keep-alive: timeout=5', 'keep-alive: timeout=50', 'connection: keep-alive', 'connection: close', 'x-a: 1'],
    ...['x-a: 12', 'x-a: ', 'x-b: 1', 'X-B:\t2 ', 'no header', ' x-a: 1', '__proto__: p', 'constructor: c', 'a: \0'],
  ]
  const told = (reader: HeadReader, text: string) => {
    try {
      const head = reader.read(text)
      return head === null ? null : { ...head, headers: Object.entries(head.headers) }
    } catch (error) {
      return String(error)
    }
  }
  const reader = new HeadReader()
  let lines = ['content-length: 1']
  const others: unknown[] = []
  for (let i = 0; i < 3_000; i++) {
    if (random.next() < 0.1) lines = Array.from({ length: random.pick([2, 5, 9, 80]) }, () => random.pick(pairs))
    const at = random.int(0, lines.length - 1)
    if (random.next() < 0.5) lines = lines.with(at, random.pick(pairs))
    if (random.next() < 0.1 && lines.length > 1) lines = lines.toSpliced(at, 1)
    const text = [random.next() < 0.8 ? first[0] : random.pick(first), ...lines].join('\r\n')
    const [ours, wanted] = [told(reader, text), told(new HeadReader(), text)]
    if (JSON.stringify(ours) !== JSON.stringify(wanted)) others.push([text, ours, wanted])
  }
  t.strictSame(others, [])
})

t.test('requests to one upstream are the same bytes whichever came before', async t => {
  const random = seeded(t)
  const paths = ['/v1/chat/completions', '/v1/chat/completions?a=1', '/', '/a b', '/a\r\nx: 1']
  const lines = [
    ...[
      ['accept', 'a'],
      ['accept', 'b'],
      ['authorization', 'Bearer 1'],
      ['authorization', 'Bearer 2'],
      ['x-a', ''],
    ],
    ...[
      ['x-a', '1\r\nx-b: 2'],
      ['x y', '1'],
      ['content-length', '7'],
      ['content-length', '8'],
      ['x-b', '\xa0'],
    ],
  ]
  const body = (bytes: number) => Buffer.alloc(bytes, 'b')
  const bodies = [null, body(0), body(7), [body(3), body(4)], [], body(64 * 1024), body(64 * 1024 + 1), [body(70_000)]]
  const written = (writer: RequestBytes, options: Dispatcher.DispatchOptions) => {
    try {
      return Buffer.concat(writer.write(options)).toString('latin1')
    } catch (error) {
      return String(error)
    }
  }
  const writer = new RequestBytes('upstream.test')
  let headers: string[] = []
  for (let i = 0; i < 2_000; i++) {
    if (random.next() < 0.3) headers = Array.from({ length: random.int(0, 4) }, () => random.pick(lines)).flat()
    else if (random.next() < 0.2) headers.push(...random.pick(lines)) // the same list, which its maker has changed
    const path = random.next() < 0.8 ? (paths[0] as string) : random.pick(paths)
    const method = random.next() < 0.9 ? 'POST' : 'GET'
    const options = { method, path, headers, body: random.pick(bodies) } as Dispatcher.DispatchOptions
    const [ours, wanted] = [written(writer, options), written(new RequestBytes('upstream.test'), options)]
    if (ours !== wanted) t.equal(ours, wanted)
  }
  t.equal(
    written(writer, { method: 'POST', path: '/p', headers: ['a', 'b'], body: Buffer.from('body') }),
    'POST /p HTTP/1.1\r\nhost: upstream.test\r\nconnection: keep-alive\r\na: b\r\ncontent-length: 4\r\n\r\nbody',
  )
})
