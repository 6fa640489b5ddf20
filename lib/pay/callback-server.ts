/**
 * The addresses to which providers send their callbacks: `/pay/METHOD` on the main address. The body is kept as raw bytes;
 * nothing is parsed here. There is no login and no redirect: the provider's signature is the proof.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BodyFault, readBytes } from '../base/request-body.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { PaymentService } from './service.ts'
import type { CallbackAnswer } from './method.ts'

const MOST_BYTES = 64 * 1024
const WITHIN_MS = 5_000
/** Callbacks that are worked on at once. Whoever sends more than that is told to come again. */
const MOST_OPEN = 64
/** Bodies that are on their way at once: at most 16 MiB. */
const MOST_READ = 256

const NOT_FOUND = { status: 404, type: 'text/plain', body: 'not found' }
const BUSY = { status: 503, type: 'text/plain', body: 'later' }
const FAULTS = { too_large: 413, too_slow: 408, not_json: 400 } as const

export class CallbackServer {
  readonly #service: PaymentService
  readonly #clock: Clock
  readonly #log: Logger
  #open = 0
  /** Requests whose body has not come, the oldest first. */
  readonly #reading = new Set<IncomingMessage>()

  constructor(service: PaymentService, clock: Clock, log: Logger) {
    this.#service = service
    this.#clock = clock
    this.#log = log
  }

  /** `name`: the method in the path. */
  serve(name: string, req: IncomingMessage, res: ServerResponse): void {
    this.#answer(name, req)
      .catch(error => {
        this.#log.error({ err: error }, 'a callback failed')
        return { status: 500, type: 'text/plain', body: 'failed' }
      })
      .then(({ status, type, body }) => {
        res.writeHead(status, {
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          // A 204 has no body, and may not say how long it is.
          ...(status === 204 ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
          // What was not read to its end would be taken for the next request.
          ...(req.complete ? {} : { connection: 'close' }),
        })
        res.end(body)
      })
      .catch(() => res.destroy())
  }

  async #answer(name: string, req: IncomingMessage): Promise<CallbackAnswer> {
    try {
      const body = await this.#read(req)
      if (this.#open >= MOST_OPEN) return BUSY
      this.#open++
      try {
        return (await this.#service.callback(name, { headers: req.headers, body })) ?? NOT_FOUND
      } finally {
        this.#open--
      }
    } catch (error) {
      if (!(error instanceof BodyFault)) throw error
      return { status: FAULTS[error.what], type: 'text/plain', body: error.what }
    }
  }

  /**
   * A provider's body comes at once. Where too many are on their way, the one that has been so for longest is dropped, so
   * that nobody keeps providers out by sending slowly.
   */
  async #read(req: IncomingMessage): Promise<Buffer> {
    const [oldest] = this.#reading
    if (oldest !== undefined && this.#reading.size >= MOST_READ) {
      this.#reading.delete(oldest)
      oldest.destroy()
    }
    this.#reading.add(req)
    try {
      return await readBytes(req, { clock: this.#clock, mostBytes: MOST_BYTES, withinMs: WITHIN_MS })
    } finally {
      this.#reading.delete(req)
    }
  }
}
