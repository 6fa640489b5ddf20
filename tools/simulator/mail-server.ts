/** A mail server that takes every letter and keeps the latest. It speaks the part of SMTP (RFC 5321) that a client needs. */
import net, { type AddressInfo } from 'node:net'
import tls from 'node:tls'

const MOST_CONNECTIONS = 20
/** Letters that are kept, and lines. The oldest are dropped. */
const MOST_KEPT = 200
/** The largest letter. The connection of who sends more is closed. */
const MOST_CHARACTERS = 64 * 1024
const IDLE_MS = 60_000

interface Mail {
  to: string
  /** Headers and text, as they were sent. */
  data: string
  /** The text, decoded. */
  text: string
  /** The name and the password that the client gave before; null = none. */
  login: string | null
  /** The version of TLS under which it came; null = it could be read on the way. */
  encrypted: string | null
}

/** `tls`: encrypted from the beginning. `starttls`: from when the client asks for it. */
export interface MailTls {
  mode: 'tls' | 'starttls'
  key: string
  cert: string
}

export interface MailServer {
  port: number
  letters: Mail[]
  /** Lines that could be read on the way. */
  plain: string[]
  /** Answers the next letter with this line in the place of taking it. */
  refuseNext(line: string): void
}

export async function startMailServer(
  t: { teardown(fn: () => unknown): void },
  secure: MailTls | null = null,
  told: (letter: Mail) => void = () => {},
): Promise<MailServer> {
  const letters: Mail[] = []
  const refusals: string[] = []
  const plain: string[] = []
  const sockets = new Set<net.Socket>()
  const taken = (socket: net.Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    new Talk(socket, { letters, refusals, plain, told }, secure?.mode === 'starttls' ? secure : null)
  }
  const server = secure?.mode === 'tls' ? tls.createServer(secure, taken) : net.createServer(taken)
  server.on('tlsClientError', () => {})
  server.maxConnections = MOST_CONNECTIONS
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, letters, plain, refuseNext: line => void refusals.push(line) }
}

interface Kept {
  letters: Mail[]
  refusals: string[]
  plain: string[]
  told(letter: Mail): void
}

function keep<T>(kept: T[], one: T): void {
  kept.push(one)
  if (kept.length > MOST_KEPT) kept.shift()
}

/** One connection. */
class Talk {
  readonly #kept: Kept
  /** What the client may ask for; null = nothing, or it has. */
  #upgrade: MailTls | null
  #socket: net.Socket
  #waiting = ''
  #to = ''
  #login: string | null = null
  #inData = false

  constructor(socket: net.Socket, kept: Kept, upgrade: MailTls | null) {
    this.#kept = kept
    this.#upgrade = upgrade
    this.#socket = socket
    this.#hear()
    this.#say('220 test ESMTP')
  }

  #say(line: string): void {
    this.#socket.write(`${line}\r\n`)
  }

  #hear(): void {
    this.#socket.on('data', chunk => {
      this.#waiting += chunk.toString('utf8')
      for (let piece = this.#next(); piece !== null; piece = this.#next()) this.#answer(piece)
      if (this.#waiting.length > MOST_CHARACTERS) this.#socket.destroy()
    })
  }

  #next(): string | null {
    const ending = this.#inData ? '\r\n.\r\n' : '\r\n'
    const end = this.#waiting.indexOf(ending)
    if (end < 0) return null
    const piece = this.#waiting.slice(0, end)
    this.#waiting = this.#waiting.slice(end + ending.length)
    return piece
  }

  get #encrypted(): string | null {
    return this.#socket instanceof tls.TLSSocket ? this.#socket.getProtocol() : null
  }

  #answer(piece: string): void {
    const { letters, refusals, plain, told } = this.#kept
    if (this.#encrypted === null) keep(plain, piece)
    if (this.#inData) {
      this.#inData = false
      const [to, login, encrypted] = [this.#to, this.#login, this.#encrypted]
      const letter: Mail = { to, data: piece, text: textOf(piece), login, encrypted }
      keep(letters, letter)
      told(letter)
      this.#say('250 taken')
    } else if (/^EHLO/i.test(piece))
      this.#say(`250-test\r\n${this.#upgrade === null ? '' : '250-STARTTLS\r\n'}250-AUTH PLAIN\r\n250 8BITMIME`)
    else if (/^STARTTLS/i.test(piece)) {
      if (this.#upgrade === null) this.#say('502 not here')
      else this.#encrypt(this.#upgrade)
    } else if (/^AUTH PLAIN /i.test(piece)) {
      this.#login = Buffer.from(piece.slice(11), 'base64').toString('utf8').split('\0').slice(1).join(':')
      this.#say('235 welcome')
    } else if (/^RCPT TO:<(.*)>/i.test(piece)) {
      this.#to = /<(.*)>/.exec(piece)?.[1] ?? ''
      this.#say(refusals.shift() ?? '250 ok')
    } else if (/^DATA/i.test(piece)) {
      this.#inData = true
      this.#say('354 go on')
    } else if (/^QUIT/i.test(piece)) {
      this.#say('221 bye')
      this.#socket.end()
    } else this.#say('250 ok')
  }

  #encrypt({ key, cert }: MailTls): void {
    this.#say('220 go on')
    this.#socket.removeAllListeners('data')
    this.#upgrade = null
    this.#waiting = ''
    this.#socket = new tls.TLSSocket(this.#socket, { isServer: true, key, cert })
    this.#socket.on('error', () => {})
    this.#hear()
  }
}

function textOf(data: string): string {
  const at = data.indexOf('\r\n\r\n')
  const [head, body] = [data.slice(0, at), data.slice(at + 4)]
  if (/content-transfer-encoding: base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8')
  if (!/content-transfer-encoding: quoted-printable/i.test(head)) return body
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
