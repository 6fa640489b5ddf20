/**
 * The two public listeners, main and direct. node:http parses requests, and each becomes an exchange. The options and
 * event handlers here see to it that node answers nothing by itself, and that a faulty or slow client does no harm to
 * others.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { http, isFramedOddly } from '../../base/http.ts'
import { Incoming } from '../../base/incoming.ts'
import { accept, MOST_HEADERS } from '../accept.ts'
import type { Exchange, ListenerName } from '../record/exchange.ts'
import { refuse } from '../record/ending.ts'
import type { Services } from '../record/services.ts'
import { KEEP_ALIVE_MS, NO_PAGE } from '../../base/reply.ts'
import { Pipelines } from '../../base/pipelines.ts'
import { BadBytes } from './bad-bytes.ts'
import { boundConnections, clientConnections, cutStuck } from './connections.ts'
import { PROBE_PATH } from '../../terms/probe.ts'
import { probe } from './probe.ts'
import type { Clock } from '../../base/clock.ts'

/**
 * The most time for the headers of a request, from its first byte; on a new connection, from the connection's start.
 */
const HEADERS_MS = 60_000
/** The most time for a whole request, body included. */
const REQUEST_MS = 600_000
/** Full connections are told again after this time. */
const SILENT_MS = 60_000
const MAX_HEADER_BYTES = 64 * 1024

export { clientConnections }

/** Answers requests for pages beside the API (the console) and returns true; false = the request is not for a page. */
export type Pages = (req: IncomingMessage, res: ServerResponse) => boolean

export function createPublicServer(services: Services, listener: ListenerName, pages: Pages | null): Server {
  /** The newest exchange of each connection. */
  const newest = new WeakMap<Socket, Exchange>()
  const badBytes = new BadBytes(services.nextId, x => refuse(x, services, 'not_json'))
  // requireHostHeader: node itself would answer a request without host, without the error envelope
  const server = http.createServer({
    IncomingMessage: Incoming,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    requireHostHeader: false,
  })
  server.headersTimeout = HEADERS_MS
  server.maxHeadersCount = MOST_HEADERS
  server.requestTimeout = REQUEST_MS
  cutStuck(server, services.clock, () => services.world.config.timeouts.slowClientMs)
  let sayAgainMs = 0
  boundConnections(
    server,
    socket => newest.has(socket),
    () => {
      const nowMs = services.clock.monotonic()
      if (nowMs < sayAgainMs) return
      sayAgainMs = nowMs + SILENT_MS
      services.log.warn({ most: clientConnections.most }, 'connections are closed: this process may open too few files')
    },
  )
  // when one connection cannot be accepted (no file descriptor is left, say), the listener must go on
  server.on('error', error => {
    if (!server.listening) return
    clientConnections.refused.system++
    services.log.error({ err: error }, 'a connection was not accepted')
  })
  const begin = (req: IncomingMessage, res: ServerResponse): void => {
    // who keeps the connection learns from this answer that the process ends, whatever the answer is
    if (services.draining) res.shouldKeepAlive = false
    if (!isFramedOddly(req)) {
      if (pages?.(req, res)) return
      if (req.url?.startsWith(PROBE_PATH) === true && probe(services, req, res)) return
      if (req.method === 'OPTIONS' && preflight(req, res, services.nextId)) return
    }
    newest.set(req.socket, accept(services, listener, req, res))
  }
  const pipelines = new Pipelines(() => clientConnections.refused.pipelined++)
  // there is no listener for 'upgrade', so that node treats a request which offers one as an ordinary request
  server.on('request', (req: IncomingMessage, res: ServerResponse) => pipelines.take(req, res, begin))
  // the stage that reads the body sends `100 Continue` itself
  server.on('checkContinue', (req, res) => server.emit('request', req, res))
  // without a listener, node would answer an unknown expectation with 417 and without the error envelope
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    badBytes.onError(error, socket, newest.get(socket)),
  )
  return server
}

// --- preflights

const A_DAY_S = '86400'

/**
 * Answers an OPTIONS request that is a CORS preflight and returns true; false = it is none. Before a page of another site may send a request with a key,
 * the browser asks with OPTIONS whether that is allowed. Every site may ask; none may send cookies.
 */
function preflight(req: IncomingMessage, res: ServerResponse, nextId: () => string): boolean {
  if (req.headers.origin === undefined) return false
  const id = nextId()
  // `*` does not include `authorization`, so the answer repeats the names that the browser asked for
  const asked = req.headers['access-control-request-headers']
  res.writeHead(204, [
    'x-request-id',
    id,
    'request-id',
    id,
    ...NO_PAGE.pairs,
    'access-control-allow-origin',
    '*',
    'access-control-allow-methods',
    'GET, POST, OPTIONS',
    'access-control-allow-headers',
    typeof asked === 'string' && /^[\w\-, ]{1,2000}$/.test(asked) ? asked : 'authorization, content-type, x-api-key',
    'access-control-max-age',
    A_DAY_S,
    'vary',
    'access-control-request-headers',
  ])
  res.end()
  return true
}

// --- too much work

const SAMPLE_MS = 50
/** A single stall fades within some samples; lasting load is measured anew in each. */
const DECAY = 0.8
/** How many samples are taken after the last question. Then the measuring rests, so that it does not wake an idle process. */
const ASKED_SAMPLES = 40

/**
 * Measures how late the event loop runs its timers, while somebody asks. A loop that stays late means that this process has
 * more work than it can do. Above `shed.lag` new requests are refused with 503 and `retry-after`, before all requests become
 * slow. The first request after a silence finds no lag; it begins the measuring for those that follow.
 */
export class LoopLag {
  readonly #clock: Clock
  #cancel: (() => void) | null = null
  #samplesLeft = 0
  #ms = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  #sampleLater(): void {
    const due = this.#clock.monotonic() + SAMPLE_MS
    this.#cancel = this.#clock.after(SAMPLE_MS, () => {
      const late = Math.max(0, this.#clock.monotonic() - due)
      this.#ms = Math.max(late, this.#ms * DECAY)
      if (this.#samplesLeft-- > 0) this.#sampleLater()
      else this.stop()
    })
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#ms = 0
  }

  get ms(): number {
    this.#samplesLeft = ASKED_SAMPLES
    if (this.#cancel === null) this.#sampleLater()
    return this.#ms
  }
}
