/**
 * The library undici, which only HTTP/2 and proxies need. It is loaded when the first channel uses one of them, because
 * loading it takes a sixth of the time of a start.
 */
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

export const undici = (): typeof import('undici') => load('undici')
