/**
 * What we use of undici, from its own files: the index also loads a fetch client, caches and sockets that nobody here wants,
 * and took a tenth of the start for it.
 */
import { createRequire } from 'node:module'
import type * as undici from 'undici'

const load = createRequire(import.meta.url)

export const Client: typeof undici.Client = load('undici/lib/dispatcher/client.js')
export const Pool: typeof undici.Pool = load('undici/lib/dispatcher/pool.js')
export const ProxyAgent: typeof undici.ProxyAgent = load('undici/lib/dispatcher/proxy-agent.js')
export const buildConnector: typeof undici.buildConnector = load('undici/lib/core/connect.js')
export const errors: typeof undici.errors = load('undici/lib/core/errors.js')
