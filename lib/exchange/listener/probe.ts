/** Answers the probe of `gateway doctor --public` (`lib/terms/probe.ts`): echoes what came, streams slowly, or is silent. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientAddress } from '../../access/ip.ts'
import type { Services } from '../record/services.ts'
import { NO_PAGE } from '../../base/reply.ts'
import {
  isProbeToken,
  PROBE_ANSWERED,
  PROBE_HEADER,
  PROBE_PATH,
  probeCookie,
  type ProbeSeen,
} from '../../terms/probe.ts'

/** The most probes of a process at a time. */
const MOST_OPEN = 16
const MOST_EVENTS = 20
const MOST_PAUSE_MS = 15 * 60_000

let open = 0

/** Answers a request below PROBE_PATH that has a valid token and returns true; false = it is none, and whoever asks is told so by others. */
export function probe(services: Services, req: IncomingMessage, res: ServerResponse): boolean {
  const { config } = services.world
  const token = req.headers[PROBE_HEADER]
  if (typeof token !== 'string' || !isProbeToken(token, config.secret, services.clock.now())) return false
  res.on('error', () => {}) // a broken connection closes the response too
  if (open >= MOST_OPEN) {
    res.writeHead(503, { 'retry-after': '1' }).end()
    req.resume()
    return true
  }
  open++
  res.once('close', () => void open--)
  const url = new URL(req.url ?? '', 'http://gateway')
  const number = (name: string, most: number): number => {
    const value = Number(url.searchParams.get(name))
    return Number.isInteger(value) && value > 0 ? Math.min(value, most) : 0
  }
  if (url.pathname === `${PROBE_PATH}stream`) {
    req.resume()
    stream(services, res, number('events', MOST_EVENTS), number('every', MOST_PAUSE_MS))
  } else echo(services, req, res)
  return true
}

/** An event at once, and each further one after a pause. */
function stream({ clock }: Services, res: ServerResponse, events: number, everyMs: number): void {
  res.writeHead(200, [
    ...NO_PAGE.pairs,
    ...['content-type', 'text/event-stream; charset=utf-8', 'cache-control', 'no-cache', 'x-accel-buffering', 'no'],
  ])
  let cancel = () => {}
  res.once('close', () => cancel())
  const send = (i: number): void => {
    res.write(`data: ${i}\n\n`)
    if (i + 1 >= events) res.end()
    else cancel = clock.after(everyMs, () => send(i + 1))
  }
  send(0)
}

/** What came, when all of it has come. */
function echo({ world, nextId }: Services, req: IncomingMessage, res: ServerResponse): void {
  let bytes = 0
  const most = world.config.limits.bodyBytes
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > most) req.destroy()
  })
  req.once('end', () => {
    const forwarded = req.headers['x-forwarded-for']
    const remote = req.socket.remoteAddress ?? ''
    const seen: ProbeSeen = {
      bytes,
      target: req.url ?? '',
      headers: Object.keys(req.headers),
      remote,
      address: clientAddress(remote, forwarded as string | undefined, world.trusted),
      forwarded: (forwarded as string | undefined) ?? null,
      trusts: world.trusted !== null,
    }
    const id = nextId()
    const values: Record<string, string> = {
      'x-request-id': id,
      'request-id': id,
      'retry-after': '1',
      'x-should-retry': 'false',
    }
    const headers = PROBE_ANSWERED.flatMap(name => [name, values[name] ?? 'probe'])
    const cookie = req.url?.endsWith('?cookie=1') ? ['set-cookie', probeCookie(world.config.public.main)] : []
    res.writeHead(200, [...NO_PAGE.pairs, ...headers, ...cookie, 'content-type', 'application/json'])
    res.end(JSON.stringify(seen))
  })
}
