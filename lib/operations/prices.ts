/**
 * Operations on prices and their versions: what a model has cost, what all models cost at a moment, and changes of some
 * of a model's prices. Whole rows of models are written by `catalogue.ts`, and price lists of others by
 * `price-import.ts`.
 */
import { z } from 'zod'
import type { Store, Version } from '../store/store.ts'
import * as kind from '../config/scalars.ts'
import { decimal } from '../terms/decimal.ts'
import type { Actor } from '../terms/people.ts'
import { showPrice } from '../terms/price-shown.ts'
import type { Price } from '../terms/records.ts'
import { didYouMean } from '../config/typos.ts'
import { act } from './acts.ts'
import { OperationError } from './error.ts'
import { type ChangeTerms, judgeChange, withRow } from './judging.ts'
import { flatPrice, readPrice, setPaths } from './price-paths.ts'
import { read, type Sent } from './read.ts'
import { moment } from './usage-filter.ts'

const MOST_VERSIONS = 1_000
const VERSIONS = 100

export const versionsQuery = z.strictObject({
  limit: kind.whole(1, MOST_VERSIONS).prefault(VERSIONS),
  after: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
})
export const momentQuery = z.strictObject({ at: moment.optional() })

const iso = (ms: number): string => new Date(ms).toISOString()

const showVersion = ({ version, atMs, untilMs, actor }: Version<unknown>) => ({
  version,
  at: iso(atMs),
  until: untilMs === null ? null : iso(untilMs),
  actor,
})

/** What a change of prices did, as paths with the amounts before and after; null = there was none, or is none. */
export type PriceChanges = Record<string, { before: string | null; after: string | null }>

export function priceChanges(before: Price | null, after: Price | null): PriceChanges {
  const [old, now] = [before, after].map(price => (price === null ? new Map<string, string>() : flatPrice(price)))
  const paths = [...new Set([...now!.keys(), ...old!.keys()])].filter(path => old!.get(path) !== now!.get(path))
  return Object.fromEntries(
    paths.map(path => [path, { before: old!.get(path) ?? null, after: now!.get(path) ?? null }]),
  )
}

export class Prices {
  readonly #store: Store

  constructor({ store }: { store: Store }) {
    this.#store = store
  }

  /** The prices that a model has had, newest first, also of a deleted model. `after`: the last version of a page. */
  async history(model: string, sent: Sent) {
    const { limit, after: before } = read(versionsQuery, sent)
    const versions = await this.#store.priceVersions(model, { ...(before === undefined ? {} : { before }), limit })
    if (versions.length === 0 && before === undefined) await this.#known(model)
    return page(versions, limit, ({ value, ...rest }) => ({
      ...showVersion({ ...rest, value }),
      price: showPrice(value),
    }))
  }

  /** The multipliers that a group has had, in the same way. */
  async multipliers(group: string, sent: Sent) {
    const { limit, after: before } = read(versionsQuery, sent)
    const versions = await this.#store.multiplierVersions(group, { ...(before === undefined ? {} : { before }), limit })
    if (versions.length === 0 && before === undefined) {
      const { groups } = await this.#store.catalog()
      if (!groups.some(({ name }) => name === group)) throw new OperationError('missing', `there is no group ${group}`)
    }
    return page(versions, limit, version => ({ ...showVersion(version), multiplier: decimal(version.value) }))
  }

  /** What every model costs, or cost at a moment. Models without price are left out. */
  async at(sent: Sent) {
    const { at } = read(momentQuery, sent)
    const versions = await this.#store.pricesAt(at ?? Number.MAX_SAFE_INTEGER)
    return {
      data: versions.map(({ model, value, ...version }) => ({
        model,
        ...showVersion({ ...version, value }),
        price: showPrice(value),
      })),
    }
  }

  /**
   * `paths`: prices to set, as `output` or `over.200000.input`; null takes one away. `dry`: changes nothing. Returns what
   * changed, and what sense says of it. Throws OperationError, also for what sense refuses.
   */
  async set(
    model: string,
    paths: ReadonlyMap<string, string | null>,
    actor: Actor,
    terms: ChangeTerms,
    dry = false,
  ): Promise<{ changes: PriceChanges; warnings: string[] }> {
    let changes: PriceChanges = {}
    await this.#known(model)
    const warnings = await judgeChange(this.#store, terms, [{ kind: 'models', name: model }], ({ models }) => {
      const there = models.find(({ name }) => name === model)
      if (there === undefined) return {}
      const price = readPrice(setPaths(there.price === null ? {} : showPrice(there.price), paths))
      return { models: withRow(models, { ...there, price }) }
    })
    await this.#store.editModel(
      model,
      there => {
        if (there === null) throw new OperationError('missing', `there is no model ${model}`)
        const price = readPrice(setPaths(there.price === null ? {} : showPrice(there.price), paths))
        changes = priceChanges(there.price, price)
        return dry ? null : { ...there, price }
      },
      act(actor, 'prices.set'),
    )
    return { changes, warnings }
  }

  async #known(model: string): Promise<void> {
    const names = (await this.#store.catalog()).models.map(({ name }) => name)
    if (!names.includes(model))
      throw new OperationError('missing', `there is no model ${model}${didYouMean(model, names)}`)
  }
}

function page<T extends { version: number }, S>(versions: readonly T[], limit: number, show: (version: T) => S) {
  const next = versions.length === limit ? String(versions.at(-1)!.version) : null
  return { data: versions.map(show), next }
}
