/** A client over a bare socket: every byte it gets is kept in order, and whether its answer ended or was cut off. */
import net, { type Socket } from 'node:net'
import { until } from '../../support/wait.ts'

export interface Ask {
  path: string
  headers?: Record<string, string>
  body: object | string
}

interface Answer {
  status: number
  headers: Map<string, string>
  body: string
  /** The framing says that this was all. */
  whole: boolean
}

const NOTHING: Answer = { status: 0, headers: new Map(), body: '', whole: false }

export class Client {
  readonly socket: Socket
  /** What has come so far, joined when somebody looks: a large answer comes in many pieces. */
  #pieces: Buffer[] = []
  /** null = more has come since it was read. */
  #answer: Answer | null = NOTHING
  closed = false

  constructor(url: string, ask: Ask) {
    const { hostname, port } = new URL(url)
    this.socket = net.connect({ host: hostname, port: Number(port) })
    this.socket.on('error', () => {})
    this.socket.on('close', () => (this.closed = true))
    this.socket.on('data', (data: Buffer) => {
      this.#pieces.push(data)
      this.#answer = null
    })
    this.ask(ask)
  }

  /** Also another request before the first is answered. */
  ask(ask: Ask): void {
    const body: string = typeof ask.body === 'string' ? ask.body : JSON.stringify(ask.body)
    const headers = { host: 'gateway', 'content-length': String(Buffer.byteLength(body)), ...ask.headers }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.socket.write(`POST ${ask.path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  }

  get answer(): Answer {
    return (this.#answer ??= this.#read())
  }

  #read(): Answer {
    const raw = Buffer.concat(this.#pieces)
    this.#pieces = [raw]
    const at = raw.indexOf('\r\n\r\n')
    if (at < 0) return NOTHING
    const [first = '', ...lines] = raw.toString('latin1', 0, at).split('\r\n')
    const headers = new Map(lines.map(line => [line.split(': ')[0]?.toLowerCase() ?? '', line.split(': ')[1] ?? '']))
    const rest = raw.subarray(at + 4)
    const status = Number(first.split(' ')[1])
    if (headers.get('transfer-encoding') === 'chunked') return { status, headers, ...dechunk(rest) }
    return { status, headers, body: rest.toString(), whole: rest.length === Number(headers.get('content-length')) }
  }

  get status(): number {
    return this.answer.status
  }

  get text(): string {
    return this.answer.body
  }

  /** Waits for bytes of the answer's body. */
  async sees(text: string): Promise<void> {
    await until(`the client sees ${text}; it saw ${JSON.stringify(this.text)}`, () => this.text.includes(text))
  }

  /** Waits for the end of the answer: `whole`, or `cut` when its connection closed before. */
  async end(): Promise<'whole' | 'cut'> {
    await until('the end of the answer', () => this.answer.whole || this.closed)
    this.socket.destroy()
    return this.answer.whole ? 'whole' : 'cut'
  }

  leave(): void {
    this.socket.destroy()
  }
}

function dechunk(raw: Buffer): { body: string; whole: boolean } {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const line = raw.indexOf('\r\n', at)
    const size = line < 0 ? Number.NaN : Number.parseInt(raw.toString('latin1', at, line), 16)
    if (Number.isNaN(size) || size === 0) return { body: Buffer.concat(parts).toString(), whole: size === 0 }
    parts.push(raw.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}
