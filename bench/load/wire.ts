/**
 * One connection of the load: it sends prepared bytes and finds the end of each answer. It is a raw socket, because
 * that takes little CPU.
 */
import net from 'node:net'

export interface WireUser {
  answered(wire: Wire): void
  /** The connection ended before its answer was complete, or could not be opened. */
  broke(wire: Wire): void
  /** The connection ended between two answers. */
  ended(wire: Wire): void
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n')
const STATUS_AT = 'HTTP/1.1 '.length

export class Wire {
  readonly #socket: net.Socket
  /** The bytes of the whole answer; 0 = it is chunked, -1 = its head has not come yet. */
  #expected = -1
  #got = 0
  #tail: Buffer = LAST_CHUNK.subarray(0, 0)
  #owed = false
  status = 0
  /** When the request was sent, by performance.now(). */
  sentMs = 0
  firstByteMs = 0
  /** When the request was scheduled; the user of the connection sets it. */
  scheduledMs = 0
  counted = true

  constructor(port: number, host: string, user: WireUser) {
    const socket = (this.#socket = net.connect({ port, host, noDelay: true }))
    socket.on('data', (chunk: Buffer) => {
      if (this.#read(chunk)) {
        this.#owed = false
        user.answered(this)
      }
    })
    socket.on('error', () => {}) // the event 'close' follows
    socket.on('close', () => {
      if (this.#owed) user.broke(this)
      else user.ended(this)
      this.#owed = false
    })
  }

  send(request: Buffer): void {
    this.#owed = true
    this.#expected = -1
    this.#got = 0
    this.sentMs = performance.now()
    this.#socket.write(request)
  }

  /** Closes the connection. Of the callbacks only `ended` is still called. */
  leave(): void {
    this.#owed = false
    this.#socket.destroy()
  }

  /** Returns whether the answer is complete now. */
  #read(chunk: Buffer): boolean {
    if (!this.#owed) return false
    if (this.#expected < 0) {
      this.firstByteMs = performance.now()
      const head = chunk.toString('latin1', 0, Math.min(chunk.length, 2048))
      const end = head.indexOf('\r\n\r\n')
      this.status = Number(head.slice(STATUS_AT, STATUS_AT + 3))
      const length = /content-length: *(\d+)/i.exec(head.slice(0, end))
      this.#expected = length === null ? 0 : Number(length[1]) + end + 4
    }
    this.#got += chunk.length
    if (this.#expected > 0) return this.#got >= this.#expected
    const last = chunk.length >= LAST_CHUNK.length ? chunk : Buffer.concat([this.#tail, chunk])
    this.#tail = last.subarray(-LAST_CHUNK.length)
    return this.#tail.equals(LAST_CHUNK)
  }
}
