/**
 * The part of the store's interface that is about versions of prices. Every change of a model's price, and of a group's
 * multiplier, appends a version in the transaction that changes the catalogue; nothing changes or deletes a version. The
 * versions of models and groups are numbered in one sequence, in the order in which they came into force.
 */
import type { Act, Actor } from '../base/people.ts'
import type { Model, Price } from '../terms/records.ts'

/** Who made a version: the kind of the actor, or `import` for whoever imported a price list. */
export type PriceActor = Actor['kind'] | 'import'

/** The operation by which price lists are imported. */
export const PRICE_IMPORT = 'prices.import'

export const priceActor = ({ actor, operation }: Act): PriceActor =>
  operation === PRICE_IMPORT ? 'import' : actor.kind

export interface Version<T> {
  version: number
  /** By the store's clock; ms since 1970. It never falls from one version to the next. */
  atMs: number
  /** When another version replaced this one, or its model or group was deleted; null = it is in force. */
  untilMs: number | null
  /** A `PriceActor`. */
  actor: string
  value: T
}

/** `before`: only versions with a smaller number. */
export interface VersionPage {
  before?: number
  limit: number
}

/** Gets a model as it stands in the store (null = there is none), and returns it as it is to be; null = nothing changes. */
export type ModelEdit = (there: Model | null) => Model | null

export interface PriceStore {
  /** The prices that a model has had, newest first, also of a deleted model. */
  priceVersions(model: string, page: VersionPage): Promise<Version<Price>[]>
  /** The multipliers that a group has had, newest first, also of a deleted group. */
  multiplierVersions(group: string, page: VersionPage): Promise<Version<number>[]>
  /** The prices that were in force at a moment, by the names of their models. */
  pricesAt(atMs: number): Promise<(Version<Price> & { model: string })[]>
}
