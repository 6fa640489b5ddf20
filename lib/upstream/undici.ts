/**
 * What we use of undici, from its own files: the index also loads a fetch client, caches and sockets that nobody here wants,
 * and took a tenth of the start for it.
 */
import { createRequire } from 'node:module'
import type * as undici from 'undici'

const load = createRequire(import.meta.url)

export const Pool: typeof undici.Pool = load('undici/lib/dispatcher/pool.js')
/** The index after all, when a channel has a proxy: the agent calls what only that puts together. */
export const proxyAgent = (options: undici.ProxyAgent.Options): undici.ProxyAgent =>
  new (load('undici') as typeof undici).ProxyAgent(options)
export const buildConnector: typeof undici.buildConnector = load('undici/lib/core/connect.js')
