/** The two public listeners: what `node:http` needs to be told, and each request handed to an exchange. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { http } from '../base/http.ts'
import { accept, MOST_HEADERS } from '../exchange/accept.ts'
import type { Exchange, Listener } from '../exchange/exchange.ts'
import { refuse } from '../exchange/refuse.ts'
import type { Services } from '../exchange/services.ts'
import { KEEP_ALIVE_MS } from '../reply/reply.ts'
import { BadBytes } from './bad-bytes.ts'
import { boundConnections } from './connections.ts'
import { preflight } from './preflight.ts'
import { cutStuck } from './stuck.ts'

/** Time for a request's headers, from its first byte; on a new connection from its beginning. */
const HEADERS_MS = 60_000
/** An upload that takes longer than this is no request any more. */
const REQUEST_MS = 600_000
const MAX_HEADER_BYTES = 64 * 1024

/** What is served beside the API: the console, on the main address only. True = answered. */
export type Pages = (req: IncomingMessage, res: ServerResponse) => boolean

export function createPublicServer(services: Services, listener: Listener, pages: Pages | null): Server {
  /** The newest exchange of each connection. */
  const newest = new WeakMap<Socket, Exchange>()
  const badBytes = new BadBytes(services.nextId, x => refuse(x, services, 'not_json'))
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
