/** The pages on which the simulator tells what it is and what it has served. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Books } from './books.ts'
import { PICTURE, PICTURE_PATH } from './dialects/images.ts'

const PAGE = 1000

/**
 * `GET /sim/served?id=&after=&limit=` → `Stats` as JSON, oldest first, `after` a number of `served`.
 * `GET /` says what this is.
 */
export function answerGet(books: Books, req: IncomingMessage, res: ServerResponse, url: URL): void {
  const send = (status: number, type: string, body: string | Buffer) => {
    res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
    res.end(req.method === 'HEAD' ? undefined : body)
  }
  if (url.pathname === PICTURE_PATH) send(200, 'image/png', PICTURE)
  else if (url.pathname === '/sim/served')
    send(200, 'application/json', JSON.stringify(served(books, url.searchParams)))
  else if (url.pathname === '/') send(200, 'text/plain; charset=utf-8', 'A simulated upstream: docs/simulator.md\n')
  else send(404, 'application/json', '{"error":{"message":"no such path","type":"invalid_request_error"}}')
}

function served(books: Books, query: URLSearchParams) {
  const id = query.get('id')
  const after = Number(query.get('after') ?? 0)
  const limit = Math.min(Number(query.get('limit') ?? PAGE), PAGE)
  const { requests, open, ends, usage } = books
  const matching = books.served.filter(s => s.number > after && (id === null || s.id === id))
  return { requests, open, ends, usage, served: matching.slice(0, limit) }
}
