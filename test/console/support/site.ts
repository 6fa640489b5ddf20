/** The main address as far as pages that need no account see it: the console's pages and a list of models. */
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { createSite } from '../../../lib/console/site.ts'
import { PublicCatalogue } from '../../../lib/operations/catalogue/public-catalogue.ts'
import { parseConfig } from '../../../lib/config/config.ts'
import { renderError } from '../../../lib/base/errors.ts'
import { createLogger } from '../../../lib/base/log.ts'
import { World } from '../../../lib/world/world.ts'
import { TestClock } from '../../support/clock.ts'
import { memoryStore } from '../../support/store.ts'

const CONFIG = parseConfig('{}', 'test.yaml', {})
/** One for all: every logger listens to the end of the process. */
const log = createLogger('error')
export const URLS = { main: 'https://api.example', direct: 'https://direct.example' }
export const KEY = 'sk-good-key'
export const MODELS = ['alpha-sonnet-5-5', 'beta-4.7', '<img src=x onerror=alert(1)>']

export interface Visit {
  url: string
  headers: IncomingHttpHeaders
}

/** Of a gateway that has no models yet. */
export async function emptyCatalogue(t: Test): Promise<PublicCatalogue> {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const world = new World(CONFIG, await store.catalogue.read())
  const fleet = { channelStates: async () => new Map() }
  return new PublicCatalogue({ store, clock: new TestClock(), fleet, world: () => world })
}

/** `asked`: the requests that were not for a page. */
export async function openSite(t: Test, urls: () => typeof URLS = () => URLS): Promise<{ at: string; asked: Visit[] }> {
  const pages = createSite({
    config: () => ({ ...CONFIG, public: { ...CONFIG.public, ...urls() } }),
    log,
    clock: new TestClock(),
    ipOf: req => (req.headers['x-test-ip'] as string | undefined) ?? '192.0.2.1',
    catalogue: () => emptyCatalogue(t),
  })
  const asked: Visit[] = []
  const server = http.createServer((req, res) => {
    if (pages(req, res)) return
    asked.push({ url: req.url as string, headers: req.headers })
    models(req, res)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, at: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function models(req: IncomingMessage, res: ServerResponse): void {
  const english = req.headers['accept-language']?.startsWith('en') === true
  res.setHeader('content-type', 'application/json')
  if (req.url?.startsWith('/v1/models') !== true)
    res.writeHead(404).end(renderError('url', ['GET', '/'], 'r1', false, false))
  else if (req.headers.authorization === 'Bearer sk-page') res.writeHead(502).end('<html>bad gateway</html>')
  else if (req.headers.authorization !== `Bearer ${KEY}`)
    res.writeHead(401).end(renderError('key', [], 'r1', english, false))
  else res.end(JSON.stringify({ object: 'list', data: MODELS.map(id => ({ id })) }))
}
