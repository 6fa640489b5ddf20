/**
 * A request has come: its record is made, its path says which endpoint it means, and the plan of that endpoint runs. Whatever
 * happens from here on, the exchange is finished exactly once: at the latest when its response is closed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isFramedOddly } from '../base/http.ts'
import { NO_PAGE, Reply } from '../base/reply.ts'
import { Exchange, type ListenerName } from './record/exchange.ts'
import { guard, onClose, refuse } from './record/ending.ts'
import { findTarget, insteadOf, originForm } from './paths.ts'
import { runPlan } from './plan.ts'
import { PLANS } from './plans.ts'
import type { Services } from './record/services.ts'

/** Headers beyond these are not seen, so a request with as many is refused. */
export const MOST_HEADERS = 500
const SHED_RETRY_AFTER_S = 2

/** `keyHash`: of the key with which the request is made by somebody who need not send it; null = its secret stands in the request. */
export function accept(
  services: Services,
  listener: ListenerName,
  req: IncomingMessage,
  res: ServerResponse,
  keyHash: string | null = null,
): Exchange {
  const x = begin(services, listener, req, res)
  x.keyHash = keyHash
  res.on('close', () => onClose(x, services))
  guard(x, services, serve)
  return x
}

/** Headers with which a person's browser says who that person is, and where they are in the console: nothing of an exchange. */
const OF_PERSON = ['cookie', 'authorization', 'origin', 'referer']

/**
 * A person asks in the console, with one of their keys. The request is served as one of a client who sent the key, from the same address
 * and with the same limits. `url`: what that client would have asked for.
 */
export function acceptByKey(
  services: Services,
  { keyHash, url }: { keyHash: string; url: string },
  req: IncomingMessage,
  res: ServerResponse,
): Exchange {
  for (const name of OF_PERSON) delete req.headers[name]
  req.url = url
  return accept(services, 'main', req, res, keyHash)
}

/** The record of a request; from now on the exchange is open, and owes a `finish`. */
export function begin(services: Services, listener: ListenerName, req: IncomingMessage, res: ServerResponse): Exchange {
  services.openCount++
  const url = originForm(req.url ?? '')
  const at = url.indexOf('?')
  return new Exchange({
    id: services.nextId(),
    listener,
    world: services.world,
    req,
    reply: new Reply(req, res, NO_PAGE),
    path: at < 0 ? url : url.slice(0, at),
    query: at < 0 ? '' : url.slice(at + 1),
    startedMs: services.clock.monotonic(),
  })
}

function serve(x: Exchange, services: Services): void {
  const { req, world } = x
  const { lagMs } = world.config.shed
  // a browser that navigates would show the answer as a page, and nothing of the API is one
  const target = req.headers['sec-fetch-mode'] === 'navigate' ? null : findTarget(x)
  x.aimAt(target)
  services.metrics.inflight(x.protocol ?? 'none', 1)
  if (isFramedOddly(req)) {
    x.reply.closeAfter()
    refuse(x, services, 'not_json')
  } else if (req.rawHeaders.length >= 2 * MOST_HEADERS) refuse(x, services, 'not_json')
  else if (target === null) refuse(x, services, 'url', [x.method, x.path, insteadOf(x.path)])
  else if (lagMs > 0 && services.lag.ms > lagMs) refuse(x, services, 'unavailable', [], SHED_RETRY_AFTER_S)
  else runPlan(PLANS[target.endpoint.action], x, services)
}
