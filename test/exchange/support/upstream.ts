/** An upstream that does nothing by itself: each request waits for what its test says, byte by byte. */
import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { until } from '../../support/wait.ts'

export type Headers = Record<string, string>

/** One request that came, and the answer to it as the test goes on. */
export class Call {
  readonly head: string
  readonly body: string
  readonly socket: Socket

  constructor(head: string, body: string, socket: Socket) {
    this.head = head
    this.body = body
    this.socket = socket
  }

  header(name: string): string | undefined {
    return new RegExp(`^${name}: (.*)$`, 'im').exec(this.head)?.[1]?.trim()
  }

  /** Any bytes, HTTP or not. */
  raw(bytes: string | Buffer): boolean {
    return this.socket.write(bytes)
  }

  start(status: number, headers: Headers): void {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.raw(`HTTP/1.1 ${status} Any\r\n${lines.join('')}\r\n`)
  }

  /** The head of an event stream. */
  stream(headers: Headers = {}): void {
    this.start(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', ...headers })
  }

  chunk(bytes: string | Buffer): boolean {
    const data = Buffer.from(bytes)
    return this.raw(Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]))
  }

  end(): void {
    this.raw('0\r\n\r\n')
  }

  whole(status: number, body: string | object, headers: Headers = {}): void {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const length = String(Buffer.byteLength(text))
    this.start(status, { 'content-type': 'application/json', 'content-length': length, ...headers })
    this.raw(text)
  }

  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** No more from here, while the other direction stays open. */
  halfClose(): void {
    this.socket.end()
  }

  get closed(): boolean {
    return this.socket.closed
  }

  cut(): Promise<void> {
    return until('the gateway closes its connection to the upstream', () => this.closed)
  }
}

export type Script = (call: Call) => void
export const silent: Script = () => {}

export class Upstream {
  readonly url: string
  readonly calls: Call[] = []
  readonly #server: net.Server
  readonly #sockets = new Set<Socket>()
  /** What each request is answered at once. */
  script: Script = silent
  /** Is told of a request whose body has not come. */
  begun: (socket: Socket) => void = () => {}

  private constructor(server: net.Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('connection', socket => this.#accept(socket))
  }

  static async open(): Promise<Upstream> {
    // without a delay: an answer in two writes would wait 40 ms for the kernel to acknowledge the first
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Upstream(server)
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {}) // resets are what some tests are about
    socket.on('end', () => socket.end())
    socket.on('close', () => this.#sockets.delete(socket))
    let pieces: Buffer[] = []
    let bytes = 0
    // of the request that comes; 0 = its head is not whole
    let end = 0
    socket.on('data', (data: Buffer) => {
      pieces.push(data)
      bytes += data.length
      if (bytes < end) return
      const waiting = Buffer.concat(pieces)
      pieces = [waiting]
      const at = waiting.indexOf('\r\n\r\n')
      if (at < 0) return
      const head = waiting.toString('latin1', 0, at)
      end = at + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
      if (waiting.length < end) return this.begun(socket)
      const call = new Call(head, waiting.toString('utf8', at + 4, end), socket)
      pieces = [waiting.subarray(end)]
      bytes -= end
      end = 0
      this.calls.push(call)
      this.script(call)
    })
  }

  /** The request that came as the nth, waited for. */
  async call(nth = 0): Promise<Call> {
    await until(`request ${nth} at the upstream`, () => this.calls.length > nth)
    return this.calls[nth] as Call
  }

  /** Connections are refused from now on. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    if (this.#server.listening) await once(this.#server.close(), 'close')
  }
}
