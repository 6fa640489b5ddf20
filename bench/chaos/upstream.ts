/**
 * The five upstreams of the chaos run, in one process. By a seed, each fails in one way or another for some seconds at
 * a time; two of them are without a fault at any moment. They count for each request number how often an answer was
 * sent completely, and how often a part of one.
 *   env SEED
 */
import http from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { withSeed } from '../../test/support/random.ts'
import { numberIn, readPath, SPEECH } from './speech.ts'

const COUNT = 5
const WELL_AT_LEAST = 2
const FAULTS = [
  'refuse',
  'reset',
  'hang',
  'slow first byte',
  'drip',
  '429',
  '429 with retry-after',
  '5xx',
  'no http',
  'malformed',
  'early end',
  'wrong length',
  'endless headers',
] as const
type Mode = (typeof FAULTS)[number] | 'well'

const random = withSeed(Number(process.env['SEED'] ?? 1))
/** By request number: how many answers were sent completely, and how many in part. */
const served = new Map<number, [number, number]>()
const seen: Record<string, number> = {}

function note(n: number, whole: boolean): void {
  const counts = served.get(n) ?? [0, 0]
  counts[whole ? 0 : 1]++
  served.set(n, counts)
}

class Upstream {
  mode: Mode = 'well'
  readonly #sockets = new Set<Socket>()
  readonly #server = net.createServer(socket => this.#accept(socket))
  port = 0

  async open(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(this.port, '127.0.0.1', 1024, resolve))
    this.port = (this.#server.address() as AddressInfo).port
  }

  async enter(mode: Mode): Promise<void> {
    if (this.mode === 'refuse' && mode !== 'refuse') await this.open()
    if (mode === 'refuse' && this.mode !== 'refuse') {
      this.#server.close()
      for (const socket of this.#sockets) socket.destroy()
    }
    this.mode = mode
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    let bytes = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const head = bytes.indexOf('\r\n\r\n')
      if (head < 0) return
      const lines = bytes.toString('latin1', 0, head)
      const length = Number(/content-length: *(\d+)/i.exec(lines)?.[1] ?? 0)
      if (bytes.length < head + 4 + length) return
      const body = bytes.subarray(head + 4, head + 4 + length)
      bytes = Buffer.alloc(0)
      this.#answer(socket, /^\S+ (\S+)/.exec(lines)?.[1] ?? '', body).catch(() => socket.destroy())
    })
  }

  async #answer(socket: Socket, path: string, body: Buffer): Promise<void> {
    const { mode } = this
    const n = numberIn(body)
    seen[mode] = (seen[mode] ?? 0) + 1
    const { protocol, stream } = readPath(path, body)
    const speech = SPEECH[protocol]
    const pieces = stream ? speech.stream(n) : [JSON.stringify(speech.whole(n))]
    const type = stream ? 'text/event-stream' : 'application/json'
    const text = pieces.join('')
    const plain = (status: string, more = '', body = '{"error":{"message":"storm"}}') =>
      socket.write(
        `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${more}content-length: ${body.length}\r\n\r\n${body}`,
      )
    switch (mode) {
      case 'refuse':
      case 'reset':
        socket.resetAndDestroy()
        return
      case 'hang':
        return
      case '429':
        plain('429 Too Many Requests')
        return
      case '429 with retry-after':
        plain('429 Too Many Requests', 'retry-after: 1\r\n')
        return
      case '5xx':
        plain(`${[500, 502, 503, 529][n % 4]} Storm`)
        return
      case 'no http':
        socket.end('what is this?\r\n\r\n')
        return
      case 'endless headers':
        socket.write('HTTP/1.1 200 OK\r\n')
        for (let i = 0; i < 400 && !socket.destroyed; i++) {
          socket.write(`x-storm-${i}: ${'x'.repeat(1000)}\r\n`)
          await sleep(2)
        }
        socket.destroy()
        return
      case 'malformed':
        note(n, false)
        socket.end(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n${text}`)
        return
      case 'wrong length':
        note(n, true) // the whole answer is sent, but its head announced more
        socket.end(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${text.length + 100}\r\n\r\n${text}`)
        return
      case 'slow first byte':
        await sleep(random.int(500, 4000))
    }
    if (mode === 'early end' && !stream) {
      note(n, false)
      const some = text.slice(0, Math.ceil(text.length / 2))
      socket.end(
        `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n${some.length.toString(16)}\r\n${some}\r\n`,
      )
      return
    }
    const half = mode === 'early end' ? Math.ceil(pieces.length / 2) : pieces.length
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`)
    note(n, false)
    for (const [i, piece] of pieces.slice(0, half).entries()) {
      for (const part of mode === 'drip' ? (piece.match(/.{1,40}/gs) ?? []) : [piece]) {
        socket.write(`${part.length.toString(16)}\r\n${part}\r\n`)
        if (mode === 'drip' || stream) await sleep(mode === 'drip' ? 5 : 20)
        if (socket.destroyed && i < pieces.length - 1) return
      }
      if (i === pieces.length - 1) note(n, true) // only the end of the connection may still fail, which is no part of the answer
    }
    if (mode === 'early end') socket.destroy()
    else if (!socket.destroyed) socket.write('0\r\n\r\n')
  }
}

const upstreams = Array.from({ length: COUNT }, () => new Upstream())
for (const one of upstreams) await one.open()
let calm = false

async function weather(one: Upstream): Promise<void> {
  for (;;) {
    await sleep(random.int(3000, 9000))
    const wellElsewhere = upstreams.filter(other => other !== one && other.mode === 'well').length
    const mode = calm || wellElsewhere < WELL_AT_LEAST || random.next() < 0.35 ? 'well' : random.pick(FAULTS)
    await one.enter(mode)
  }
}
for (const one of upstreams) void weather(one)

const control = http.createServer((req, res) => {
  if (req.url === '/calm') {
    calm = true
    for (const one of upstreams) void one.enter('well')
  }
  res.end(JSON.stringify({ served: [...served], seen }))
})
control.listen(0, '127.0.0.1', () =>
  console.log(
    JSON.stringify({ ready: true, port: (control.address() as AddressInfo).port, ports: upstreams.map(u => u.port) }),
  ),
)
