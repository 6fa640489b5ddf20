/**
 * The ops listener, for operators. `/metrics`, `/healthz` and `/readyz` answer whoever can reach the address;
 * `/admin/…` only who sends the admin token.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { sendText, setTokenHeaders } from '../api/answer.ts'
import type { TokenApi, TokenFault } from '../api/api.ts'
import { http, isFramedOddly } from '../base/http.ts'
import type { Config } from '../config/config.ts'
import type { OperationDeps, ServingProcesses } from '../operations/deps.ts'
import type { Mailer } from '../operations/people/mail.ts'
import type { PaymentService } from '../pay/service.ts'
import type { LiveChannels } from '../terms/channel-seen.ts'
import { renderError } from '../base/errors.ts'
import { prefersEnglish } from '../base/language.ts'
import type { AdminParts } from './call.ts'

/** Says whether new requests can be served now. The store may be away: memory can be enough. */
export interface Readiness {
  ready: boolean
  store: 'ok' | 'away'
  /** The reason why not, in words for people. */
  reason?:
    | 'leaving'
    | 'draining'
    | 'the ledger takes no new requests'
    | 'the store is away and nothing is leased'
    | 'no answer'
}

/** What the listener asks of the serving processes of this gateway, be it one or several workers. */
export interface Fleet extends ServingProcesses {
  ready(): Promise<Readiness>
  readonly channels: LiveChannels
  /** The metrics of all processes together, as Prometheus text. */
  metrics(): Promise<string>
}

interface OpsDeps extends OperationDeps {
  /** The bearer token of the admin API. A function, because a reload may change the token. */
  token: () => string
  /** Makes request ids. */
  ids: () => string
  fleet: Fleet
  config: () => Config
  mail: Mailer
  /** Counts admin calls that are not let in. */
  countRefused: (why: TokenFault) => void
  /** Orders and the ways to pay. */
  pay: () => Promise<PaymentService>
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const REQUEST_MS = 30_000
/** A process that has not said within this time whether it is ready counts as not ready. */
const READY_MS = 2_000
const NO_ANSWER: Readiness = { ready: false, store: 'away', reason: 'no answer' }

interface PageAnswer {
  status: number
  text: string
  type?: string
}

/** The pages that answer without a token, by their paths. */
const PAGES: Record<string, (deps: OpsDeps) => Promise<PageAnswer>> = {
  '/metrics': async ({ fleet }) => ({ status: 200, text: await fleet.metrics(), type: METRICS_TYPE }),
  '/healthz': async () => ({ status: 200, text: '{"alive":true}' }),
  async '/readyz'(deps) {
    const state = await readiness(deps)
    return { status: state.ready ? 200 : 503, text: JSON.stringify(state) }
  },
}

export function createOpsServer(deps: OpsDeps): Server {
  let admin: Promise<TokenApi<AdminParts>> | null = null
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const [path = ''] = (req.url as string).split('?', 1)
    if (isFramedOddly(req)) {
      const [id, { method }] = [deps.ids(), req]
      res.on('finish', () => deps.log.info({ id, method, path, status: res.statusCode }, 'admin request'))
      res.shouldKeepAlive = false
      setTokenHeaders(res, id)
      sendText(res, 400, renderError('not_json', [], id, false, false))
      return
    }
    const page = req.method === 'GET' || req.method === 'HEAD' ? PAGES[path] : undefined
    if (page !== undefined) return servePage(deps, page, req, res)
    // loaded at the first request for it, so that the gateway starts faster
    await (await (admin ??= openAdmin(deps))).serve(req, res)
  }
  const server = http.createServer({ requestTimeout: REQUEST_MS })
  server.on('error', error => server.listening && deps.log.error({ err: error }, 'a connection was not accepted'))
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    serve(req, res).catch(error => {
      deps.log.error({ err: error }, 'an ops request failed')
      res.destroy()
    })
  })
  return server
}

export const loadAdmin = () => Promise.all([import('../api/api.ts'), import('./rows.ts'), import('./call.ts')])

async function openAdmin(deps: OpsDeps): Promise<TokenApi<AdminParts>> {
  const [{ TokenApi }, { ADMIN_CALLS }, { adminParts }] = await loadAdmin()
  const { token, ids, log, clock, countRefused: count } = deps
  return new TokenApi({
    root: '/admin',
    operations: ADMIN_CALLS,
    deps: adminParts({ ...deps, channels: deps.fleet.channels }),
    token,
    ids,
    log,
    clock,
    count,
  })
}

async function servePage(
  deps: OpsDeps,
  page: (deps: OpsDeps) => Promise<PageAnswer>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const id = deps.ids()
  res.on('error', () => {}) // a caller that left needs no answer
  const { status, text, type } = await page(deps).catch((error): PageAnswer => {
    deps.log.error({ err: error, id, method: req.method, path: req.url }, 'an ops request failed')
    const english = prefersEnglish(req.headers['accept-language'])
    return { status: 500, text: renderError('internal', [], id, english, false) }
  })
  setTokenHeaders(res, id)
  sendText(res, status, text, type)
}

function readiness({ clock, fleet }: OpsDeps): Promise<Readiness> {
  return new Promise(resolve => {
    const cancel = clock.after(READY_MS, () => resolve(NO_ANSWER))
    fleet
      .ready()
      .catch(() => NO_ANSWER)
      .then(state => {
        cancel()
        resolve(state)
      })
  })
}
