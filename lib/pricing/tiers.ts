/**
 * Factors on the prices of tokens by service tier, by speed and by place. What the answer reports counts. Where it
 * reports nothing, what was asked for counts, and then at least 1: a discount needs a report. `auto` says nothing. A
 * tier that is reported and not listed has the factor 1. Where several factors apply they are multiplied, and the product
 * is rounded up at the sixth place.
 */
import type { TierNames } from '../protocols/words/usage.ts'

export interface AppliedTier {
  /** Millionths. */
  factor: number
  /** For the receipt; null = nothing was said. */
  name: string | null
  /** What was reported and is not listed, though it may cost more; null = all is known. */
  unlisted: string | null
}

const ONE = 1_000_000
const PLAIN_TIER: AppliedTier = { factor: ONE, name: null, unlisted: null }

const KINDS = ['service', 'speed', 'geo'] as const
/** What costs as the list says without being listed. */
const PLAIN: Record<(typeof KINDS)[number], readonly string[]> = {
  service: ['default', 'standard', 'standard_only', 'flex'],
  speed: ['standard'],
  geo: ['global', 'not_available'],
}
/** The field of a request that asks for it. */
const FIELDS = { service: 'service_tier', speed: 'speed', geo: 'inference_geo' } as const
export type TierField = (typeof FIELDS)[(typeof KINDS)[number]]

const said = (name: string | null): string | null =>
  name === null || /^(auto)?$/i.test(name) ? null : name.toLowerCase()
const saysNothing = ({ service, speed, geo }: TierNames): boolean => service === null && speed === null && geo === null

export class Tiers {
  readonly #factors: ReadonlyMap<string, number>

  constructor(factors: Readonly<Record<string, number>>) {
    this.#factors = new Map(Object.entries(factors).map(([name, factor]) => [name.toLowerCase(), factor]))
  }

  #listed(kind: (typeof KINDS)[number], name: string): number | undefined {
    return this.#factors.get(kind === 'geo' ? `geo:${name}` : name)
  }

  /** Names and factors in millionths. */
  get listed(): [name: string, factor: number][] {
    return [...this.#factors]
  }

  /** The factor by which an answer is charged. */
  applied(asked: TierNames, reported: TierNames): AppliedTier {
    if (saysNothing(asked) && saysNothing(reported)) return PLAIN_TIER
    const names: string[] = []
    let factor = ONE
    let unlisted: string | null = null
    for (const kind of KINDS) {
      const report = said(reported[kind])
      const name = report ?? said(asked[kind])
      if (name === null) continue
      const listed = this.#listed(kind, name)
      if (kind === 'service' || listed !== undefined) names.push(kind === 'geo' ? `geo:${name}` : name)
      if (report !== null && listed === undefined && (name === 'flex' || !PLAIN[kind].includes(name))) unlisted ??= name
      factor = times(factor, report === null ? Math.max(ONE, listed ?? ONE) : (listed ?? ONE))
    }
    return { factor, name: names.length === 0 ? null : names.join('+'), unlisted }
  }

  /** The factor by which a request is held: of what it asks for, and at least 1. */
  held(asked: TierNames): number {
    if (saysNothing(asked)) return ONE
    return KINDS.reduce((factor, kind) => {
      const name = said(asked[kind])
      const isDefault = name === null || (kind === 'service' && name === 'default')
      return times(factor, Math.max(ONE, isDefault ? ONE : (this.#listed(kind, name) ?? ONE)))
    }, ONE)
  }

  /** The field by which a request asks for what could cost more and is not listed; null = it may be admitted. */
  refused(asked: TierNames): TierField | null {
    for (const kind of KINDS) {
      const name = said(asked[kind])
      if (name !== null && !PLAIN[kind].includes(name) && this.#listed(kind, name) === undefined) return FIELDS[kind]
    }
    return null
  }
}

function times(a: number, b: number): number {
  if (a === ONE) return b
  if (b === ONE) return a
  return Number((BigInt(a) * BigInt(b) + BigInt(ONE - 1)) / BigInt(ONE))
}
