import t from 'tap'
import { CHUNKED, type Head, parseHead, TO_END } from '../../lib/upstream/http1-head.ts'

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
    const found = parseHead(lines.join('\r\n'))
    if (head === null) t.equal(found, null, lines.join())
    else t.match(found, head, lines.join(' | '))
  }
})

t.test('headers keep their bytes', async t => {
  const head = parseHead(
    'HTTP/1.1 200 OK\r\nX-A: \t b \xa0 \r\nx-a:\r\nX-B: 1\r\nx-b: 2\r\nX-B: 3\r\n__proto__: p\r\ncontent-length: 0',
  )
  t.same(Object.entries(head?.headers ?? {}), [
    ['x-a', ['b \xa0', '']],
    ['x-b', ['1', '2', '3']],
    ['__proto__', 'p'],
    ['content-length', '0'],
  ])
})
