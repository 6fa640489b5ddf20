/** undici, for HTTP/2 and proxies only: loaded for the first channel that wants one, because it takes a sixth of the start. */
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

export const undici = (): typeof import('undici') => load('undici')
