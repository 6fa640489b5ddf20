/** Makes the bytes of the requests before anything is timed. */

import { chance } from '../../tools/simulator/handler.ts'
import type { Order } from './order.ts'

function bytes(order: Order, body: Buffer, headers: Record<string, string>): Buffer {
  const lines = Object.entries({ host: order.host, ...headers, 'content-length': String(body.length) })
  const head = `POST ${order.path} HTTP/1.1\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

export function inventKeys(seed: number, count: number): string[] {
  const next = chance(seed)
  const word = () =>
    Math.floor(next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return Array.from({ length: count }, () => `sk-${word()}${word()}${word()}${word()}`)
}

/** For each kind, the variants of its request, which are sent in turns. */
export const requestsOf = (order: Order): Buffer[][] =>
  order.kinds.map(kind => {
    const body = Buffer.from(kind.body)
    if (order.inventedKeys === undefined) return [bytes(order, body, order.headers)]
    const { seed, count } = order.inventedKeys
    return inventKeys(seed, count).map(key => bytes(order, body, { ...order.headers, authorization: `Bearer ${key}` }))
  })
