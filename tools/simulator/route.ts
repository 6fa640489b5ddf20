/** Which protocol a path speaks, and the key that a request carries. */
import type { IncomingMessage } from 'node:http'
import type { Protocol } from '../../lib/terms/records.ts'
import { DIALECTS } from './dialects/table.ts'
import type { Dialect, Route } from './speech.ts'

/** What the path of a request says, and the dialect that reads the request. */
export interface Routed extends Route {
  protocol: Protocol
  dialect: Dialect
}

/** Returns null when no dialect has such a path. */
export function routeOf(url: URL): Routed | null {
  for (const [protocol, dialect] of DIALECTS) {
    const route = dialect.route(url)
    if (route !== null) return { ...route, protocol, dialect }
  }
  return null
}

export const credentialOf = (req: IncomingMessage, url: URL, { dialect }: Routed): string | null =>
  dialect.credential(name => {
    const value = req.headers[name]
    return typeof value === 'string' ? value : null
  }, url)
