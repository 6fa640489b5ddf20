/** What one request would cost, computed as it is charged: exact, and rounded up to a millionth once a request. */
import type { ShownPrice } from '../../../lib/operations/catalogue/public-catalogue.ts'

export interface Example {
  /** By class: tokens, or 1 for a picture. */
  lines: { name: 'input' | 'cache_read' | 'output' | 'image'; count: number; price: string }[]
  /** In CNY. */
  total: string
}

const TOKENS = { input: 2_000, cache_read: 8_000, output: 1_000 } as const

const PICO = 1_000_000_000_000n
const MILLION = 1_000_000n

/** A decimal with at most twelve places, in the smallest unit. */
function picoOf(decimal: string): bigint {
  const [whole = '0', places = ''] = decimal.split('.')
  return BigInt(whole) * PICO + BigInt(places.padEnd(12, '0'))
}

/** Millionths as a decimal with six places. */
const decimalOf = (micro: bigint): string => `${micro / MILLION}.${(micro % MILLION).toString().padStart(6, '0')}`

/** null = the model is priced by pieces, whose price is the example. */
export function exampleOf({ lists }: ShownPrice): Example | null {
  const base = lists.find(({ over }) => over === null)
  if (base === undefined) return null
  const names = (['input', 'cache_read', 'output'] as const).filter(name => base.prices[name] !== undefined)
  if (base.prices['input'] !== undefined) {
    const lines = names.map(name => ({ name, count: TOKENS[name], price: base.prices[name] as string }))
    const pico = lines.reduce((sum, { count, price }) => sum + BigInt(count) * picoOf(price), 0n)
    return { lines, total: decimalOf((pico + PICO - 1n) / PICO) }
  }
  const picture = base.images['default']
  if (picture === undefined) return null
  const total = decimalOf((picoOf(picture) + MILLION - 1n) / MILLION)
  return { lines: [{ name: 'image', count: 1, price: picture }], total }
}
