/** The two public listeners: node:http on one side, an exchange and its plan on the other. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { http } from '../base/http.ts'
import { Exchange, type Listener } from '../exchange/exchange.ts'
import { ANY, findTarget, type PathQuestion } from '../exchange/paths.ts'
import { run } from '../exchange/plan.ts'
import { PLANS } from '../exchange/plans.ts'
import { KEEP_ALIVE_MS } from '../exchange/reply.ts'
import type { Services } from '../exchange/services.ts'
import { BadBytes } from './bad-bytes.ts'
import { boundConnections } from './connections.ts'
import { preflight } from './preflight.ts'
import { cutStuck } from './stuck.ts'

/** Time for a request's headers, from its first byte; on a new connection from its beginning. */
const HEADERS_MS = 60_000
/** An upload that takes longer than this is no request any more. */
const REQUEST_MS = 600_000
const MAX_HEADER_BYTES = 64 * 1024
/** Headers beyond these are not seen, so a request with as many is refused. */
const MOST_HEADERS = 500

/** What is served beside the API: the console, on the main address only. True = answered. */
export type Pages = (req: IncomingMessage, res: ServerResponse) => boolean

export function createPublicServer(services: Services, listener: Listener, pages: Pages | null): Server {
  /** Of each connection. */
  const newest = new WeakMap<Socket, Exchange>()
  const badBytes = new BadBytes(services.nextId)
  // a request without host would be answered by node itself, without our envelope
  const server = http.createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    requireHostHeader: false,
  })
  server.headersTimeout = HEADERS_MS
  server.maxHeadersCount = MOST_HEADERS
  server.requestTimeout = REQUEST_MS
  cutStuck(server, services.clock, () => services.world.config.timeouts.slowClientMs)
  boundConnections(server, socket => newest.has(socket))
  // a connection that could not be accepted is no reason to accept none
  server.on('error', error => server.listening && services.log.error({ err: error }, 'a connection was not accepted'))
  // nobody listens for upgrades, so that a request which offers one is an ordinary request
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    if (pages?.(req, res) || preflight(req, res, services.nextId)) return
    newest.set(req.socket, accept(services, listener, req, res))
  })
  // whoever reads the body asks for it
  server.on('checkContinue', (req, res) => server.emit('request', req, res))
  // an expectation we do not know is no reason to refuse: node would answer 417, without our envelope
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    badBytes.onError(error, socket, newest.get(socket)),
  )
  return server
}

function accept(services: Services, listener: Listener, req: IncomingMessage, res: ServerResponse): Exchange {
  const x = new Exchange(services, listener, req, res)
  res.on('close', () => x.onClose())
  req.on('error', ignore) // a broken connection closes the response too, and that ends the exchange
  res.on('error', ignore)
  if (services.draining) res.shouldKeepAlive = false
  x.guard(() => serve(services, x))
  return x
}

function serve(services: Services, x: Exchange): void {
  const { req } = x
  x.target = navigates(req) ? null : findTarget(new Question(x))
  services.metrics.inflight(x.protocol ?? 'none', 1)
  if (req.rawHeaders.length >= 2 * MOST_HEADERS) x.refuse('not_json')
  else if (x.target === null) x.refuse('url', [x.method, x.path])
  else if (overloaded(services)) x.refuse('unavailable', [], SHED_RETRY_AFTER_S)
  else run(PLANS[x.target.endpoint.action], x)
}

/** A browser that would show the answer as a page: nothing of the API is one. */
const navigates = (req: IncomingMessage): boolean => req.headers['sec-fetch-mode'] === 'navigate'

const SHED_RETRY_AFTER_S = 2

const overloaded = ({ world, lag }: Services): boolean =>
  world.config.shed.lagMs > 0 && lag.ms > world.config.shed.lagMs

const ignore = (): void => {}

class Question implements PathQuestion {
  readonly #x: Exchange

  constructor(x: Exchange) {
    this.#x = x
  }

  get method(): string {
    return this.#x.method
  }

  get path(): string {
    return this.#x.path
  }

  get upgrade(): boolean {
    return this.#x.req.headers.upgrade !== undefined
  }

  hasKey(): boolean {
    return ANY.some(place => (this.#x.credential([place]) ?? '') !== '')
  }

  hasVersion(): boolean {
    return this.#x.header('alpha-version') !== undefined
  }
}
