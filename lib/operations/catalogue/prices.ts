/**
 * Operations on prices and their versions: what a model has cost, what all models cost at a moment, and changes of some
 * of a model's prices. Whole rows of models are written by `catalogue.ts`, and price lists of others by
 * `price-import.ts`.
 *
 * The command line, CSV files and comparisons write prices as flat lists of paths and amounts: `input`,
 * `image.1024x1536/high`, `tiers.priority`, `over.200000.output`. Nested prices are made of them and become them.
 */
import { iso, isoOrNull } from '../../base/clock.ts'
import * as kind from '../../config/scalars.ts'
import { z } from 'zod'
import { toPrice, showPrice } from '../../catalog-file/rows.ts'
import { priceSchema as schema } from '../../catalog-file/price-schema.ts'
import type { Config } from '../../config/config.ts'
import { didYouMean } from '../../config/yaml.ts'
import type { Store } from '../../store/store.ts'
import type { Version } from '../../store/catalogue/prices.ts'
import { decimal } from '../../base/money.ts'
import type { Actor } from '../../base/people.ts'
import type { Price } from '../../terms/records.ts'
import { act, inForce } from '../deps.ts'
import { OperationError } from '../error.ts'
import { isMap, type Sent, read } from '../read.ts'
import { moment } from '../fields.ts'
import { judgeChange, withRow } from './judging.ts'

const MOST_VERSIONS = 1_000
const VERSIONS = 100

export const versionsQuery = z.strictObject({
  limit: kind.whole(1, MOST_VERSIONS).prefault(VERSIONS),
  after: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
})
export const momentQuery = z.strictObject({ at: moment.optional() })

/** `changes`: prices to set, by their paths; null takes one away. `dry_run`: nothing is changed. */
export const priceChangesForm = z.strictObject({
  changes: z.record(z.string().max(200), z.union([z.string().max(40), z.number(), z.null()])),
  dry_run: z.boolean().optional(),
  accept: kind.accepted.prefault([]),
})

const showVersion = ({ version, atMs, untilMs, actor }: Version<unknown>) => ({
  version,
  at: iso(atMs),
  until: isoOrNull(untilMs),
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
    const versions = await this.#store.catalogue.priceVersions(model, {
      ...(before === undefined ? {} : { before }),
      limit,
    })
    if (versions.length === 0 && before === undefined) await this.#known(model)
    return page(versions, limit, ({ value, ...rest }) => ({
      ...showVersion({ ...rest, value }),
      price: showPrice(value),
    }))
  }

  /** The multipliers that a group has had, in the same way. */
  async multipliers(group: string, sent: Sent) {
    const { limit, after: before } = read(versionsQuery, sent)
    const versions = await this.#store.catalogue.multiplierVersions(group, {
      ...(before === undefined ? {} : { before }),
      limit,
    })
    if (versions.length === 0 && before === undefined) {
      const { groups } = await this.#store.catalogue.read()
      if (!groups.some(({ name }) => name === group)) throw new OperationError('missing', `there is no group ${group}`)
    }
    return page(versions, limit, version => ({ ...showVersion(version), multiplier: decimal(version.value) }))
  }

  /** What every model costs, or cost at a moment. Models without price are left out. */
  async at(sent: Sent) {
    const { at } = read(momentQuery, sent)
    const versions = await this.#store.catalogue.pricesAt(at ?? Number.MAX_SAFE_INTEGER)
    return {
      data: versions.map(({ model, value, ...version }) => ({
        model,
        ...showVersion({ ...version, value }),
        price: showPrice(value),
      })),
    }
  }

  /** What changed, and what sense says of it. Throws OperationError, also for what sense refuses. */
  async change(
    model: string,
    { changes: wanted, dry_run: dry = false, accept }: z.output<typeof priceChangesForm>,
    actor: Actor,
    deps: { config: () => Config } & Parameters<typeof inForce>[0],
  ): Promise<{ model: string; changes: PriceChanges; warnings?: string[] }> {
    const paths = Object.entries(wanted).map(([path, value]) => [path, value === null ? null : String(value)] as const)
    const changed = (there: Price | null) => readPrice(setPaths(there === null ? {} : showPrice(there), paths))
    let changes: PriceChanges = {}
    await this.#known(model)
    const terms = { config: deps.config(), accept, force: false }
    const warnings = await judgeChange(this.#store, terms, [{ kind: 'models', name: model }], ({ models }) => {
      const there = models.find(({ name }) => name === model)
      return there === undefined ? {} : { models: withRow(models, { ...there, price: changed(there.price) }) }
    })
    await this.#store.catalogue.editModel(
      model,
      there => {
        if (there === null) throw new OperationError('missing', `there is no model ${model}`)
        const price = changed(there.price)
        changes = priceChanges(there.price, price)
        return dry ? null : { ...there, price }
      },
      act(actor, 'prices.set'),
    )
    if (!dry) await inForce(deps)
    return { model, changes, ...(warnings.length === 0 ? {} : { warnings }) }
  }

  async #known(model: string): Promise<void> {
    const names = (await this.#store.catalogue.read()).models.map(({ name }) => name)
    if (!names.includes(model))
      throw new OperationError('missing', `there is no model ${model}${didYouMean(model, names)}`)
  }
}

function page<T extends { version: number }, S>(versions: readonly T[], limit: number, show: (version: T) => S) {
  const next = versions.length === limit ? String(versions.at(-1)!.version) : null
  return { data: versions.map(show), next }
}

type Written = Record<string, unknown>

/** Checks a price as people write it. Throws OperationError `invalid`. */
export const readPrice = (written: object): Price => toPrice(read(schema, written))

/** The amounts of a price by their paths, in the order in which the price is shown. */
export const flatPrice = (price: Price): Map<string, string> => flatShown(showPrice(price))

/** The amounts by their paths of a price that `showPrice` has made. */
export function flatShown(price: object): Map<string, string> {
  const flat = new Map<string, string>()
  const add = (at: string, value: unknown): void => {
    if (!isMap(value)) flat.set(at, String(value))
    else for (const [name, one] of Object.entries(value)) add(name === 'sizes' ? at : `${at}.${name}`, one)
  }
  const { over = [], ...rest } = price as Written & { over?: (Written & { tokens: number })[] }
  for (const [name, value] of Object.entries(rest)) add(name, value)
  for (const { tokens, ...entry } of over) add(`over.${tokens}`, entry)
  return flat
}

/** The written price with the amounts of `paths` in it; null takes away what stands at the path and below. */
export function setPaths(written: object, paths: Iterable<readonly [path: string, amount: string | null]>): object {
  const { over = [], ...all } = structuredClone(written) as Written & { over?: (Written & { tokens: number })[] }
  const lists = new Map(over.map(entry => [String(entry.tokens), entry]))
  for (const [path, amount] of paths) {
    const [first, rest] = split(path)
    if (first !== 'over') setIn(all, path, amount, path)
    else if (rest === '') {
      if (amount !== null) throw invalid(path)
      lists.clear()
    } else setOver(lists, rest, path, amount)
  }
  const entries = [...lists.values()].sort((a, b) => a.tokens - b.tokens)
  return entries.length === 0 ? all : { ...all, over: entries }
}

function setOver(lists: Map<string, Written & { tokens: number }>, rest: string, path: string, amount: string | null) {
  const [tokens, below] = split(rest)
  if (!/^[1-9]\d{0,9}$/.test(tokens) || (below === '' && amount !== null)) throw invalid(path)
  if (below === '') lists.delete(tokens)
  else {
    const entry = lists.get(tokens) ?? { tokens: Number(tokens) }
    lists.set(tokens, entry)
    setIn(entry, below, amount, path)
    if (Object.keys(entry).length === 1) lists.delete(tokens)
  }
}

/** Maps within a price whose names people choose. */
const MAPS = ['image', 'tiers', 'container', 'tools']

/** `whole`: the path from the price on, for problems. */
function setIn(list: Written, path: string, amount: string | null, whole: string): void {
  const [first, name] = split(path)
  if (name === '') {
    if (amount === null) delete list[first]
    else list[first] = amount
    return
  }
  if (!MAPS.includes(first)) throw invalid(whole)
  const there = list[first]
  const map: Written = isMap(there) ? ((there['sizes'] as Written | undefined) ?? there) : {}
  // One price for all pictures is the price of the sizes that are not named.
  if (!isMap(there) && there !== undefined) map['default'] = there
  if (amount === null) delete map[name]
  else map[name] = amount
  if (Object.keys(map).length === 0) delete list[first]
  else list[first] = map
}

function split(path: string): [first: string, rest: string] {
  const at = path.indexOf('.')
  return at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at + 1)]
}

const invalid = (path: string): OperationError =>
  new OperationError(
    'invalid',
    `${path}: expected a price like "input", "image.1024x1536", "container.4g", "tiers.priority" or "over.200000.input"`,
  )
