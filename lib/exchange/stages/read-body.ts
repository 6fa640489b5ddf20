/** Reads the body into its chunks, bounded, never joined; one shallow scan on the way gives the facts. */
import { FactsScan } from '../../protocols/facts.ts'
import type { Exchange } from '../exchange.ts'
import { stage } from '../plan.ts'
import { DONE, NEXT, type Verdict } from '../verdict.ts'

export const readBody = stage<'admitted', 'body'>(x => {
  const { req } = x
  const limit = x.world.config.limits.bodyBytes
  const announced = Number(req.headers['content-length'] ?? 0)
  if (announced > limit) {
    x.bodyBytes = announced
    return tooLarge(x, limit)
  }
  return new Promise(resolve => {
    const scan = new FactsScan()
    req.on('data', (chunk: Buffer) => {
      if (x.refusal !== null) return // the rest is read and dropped, so that the client can read our answer
      x.bodyBytes += chunk.length
      if (x.bodyBytes > limit) {
        x.body = []
        resolve(tooLarge(x, limit))
        return
      }
      x.body.push(chunk)
      scan.feed(chunk)
    })
    req.on('end', () => {
      if (x.refusal === null) resolve(understand(x, scan))
    })
    req.on('error', () => resolve(DONE)) // the connection broke: its close ends the exchange
  })
})

/** How much of a refused upload is read before its connection is cut. */
const DROPPED_BYTES = 256 * 1024 * 1024

function tooLarge(x: Exchange, limit: number): Verdict {
  let dropped = 0
  x.req.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped > DROPPED_BYTES) x.req.destroy()
  })
  x.refuse('too_large', [sizeText(limit)])
  return DONE
}

function understand(x: Exchange, scan: FactsScan): Verdict {
  x.facts = scan.end()
  if (x.facts === null) {
    x.refuse('not_json')
    return DONE
  }
  if (x.facts.background && x.protocol === 'responses' && !x.free) {
    x.refuse('background')
    return DONE
  }
  return NEXT
}

/** `64MiB`, as the config writes it. */
export function sizeText(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`
  }
  return `${bytes}B`
}
