/**
 * The catalogue that people see: the models of a group, what they cost there, whether they are available and how they fared. It is
 * made of the world by whose rows requests are admitted and charged, so that it never says anything else.
 *
 * Everybody may see public groups, and nothing but what stands here leaves: no channel, no upstream's name of a model, no
 * cost, no weight, no number of requests. Whoever asks, everything is made at most once in a few seconds, and the figures,
 * which the store is asked for, once a minute.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Clock, DAY_MS, isoOrNull } from '../../base/clock.ts'
import type { Store } from '../../store/store.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { ImageForm } from '../../terms/records.ts'
import { type Modalities, type ModelOffer, contextOf, modalitiesOf, offersOf } from '../../world/offers.ts'
import type { World } from '../../world/world.ts'
import type { ServingProcesses } from '../deps.ts'
import { OperationError } from '../error.ts'
import { type Figures, NO_FIGURES, shownFigures, type Days, STATUS_DAYS, readDays } from './figures.ts'
import { type PricePeriod, priceHistory, type ShownPrice, shownPrice } from './public-price.ts'

export type { ShownPriceList } from './public-price.ts'
export type { ShownPrice } from './public-price.ts'

export interface GroupCatalogue {
  /** The group whose models and prices these are; null = no group is public. */
  group: string | null
  /** The groups among which the reader can choose. */
  groups: string[]
  models: CatalogueModel[]
}

export interface GroupStatus extends Pick<GroupCatalogue, 'group' | 'groups'> {
  /** The first day of `days`, YYYY-MM-DD in the zone of the books. */
  from: string
  models: (Pick<CatalogueModel, 'name' | 'family' | 'state' | 'since'> & { days: (number | null)[] })[]
  incidents: Days['incidents']
}

export interface PriceHistory {
  group: string
  model: string
  data: PricePeriod[]
}

export interface CatalogueParts {
  store: Store
  clock: Clock
  fleet: Pick<ServingProcesses, 'channelStates'>
  world: () => World
}

const DEFAULT_GROUP = 'default'
const VIEW_MS = 3_000
const FIGURES_MS = 60_000
const STATUS_MS = 60_000
const HISTORY_MS = 10_000

/** What is shown of one group in one world. */
interface View {
  world: World
  models: Kept<CatalogueModel[]>
  status: Kept<GroupStatus>
  /** By model. */
  prices: Map<string, Kept<PriceHistory>>
}

type FiguresOf = ReadonlyMap<string, Figures>
const nameOf = (group: string, model: string): string => JSON.stringify([group, model])

export class PublicCatalogue {
  readonly #parts: CatalogueParts
  readonly #figures: Kept<{ day: FiguresOf; week: FiguresOf }>
  readonly #states: Kept<ReadonlySet<string>>
  readonly #views = new Map<string, View>()
  readonly #days = new Map<string, Kept<Days>>()
  /** What everybody is shown, by the rows of the group that it is made of. */
  readonly #shown = new WeakMap<readonly CatalogueModel[], GroupCatalogue>()

  constructor(parts: CatalogueParts) {
    this.#parts = parts
    const { clock } = parts
    this.#figures = new Kept(clock, FIGURES_MS, () => this.#readFigures())
    this.#states = new Kept(clock, VIEW_MS, () => this.#readStates())
  }

  /**
   * The models of a public group, by default of the first one. Models without price are left out. The object is the same
   * one until something in it has changed, and so is each row.
   */
  async models(asked?: string): Promise<GroupCatalogue> {
    const catalogue = await this.#catalogue(this.#publicGroups(), asked)
    let shown = this.#shown.get(catalogue.models)
    if (shown === undefined) {
      shown = { ...catalogue, models: catalogue.models.filter(({ state }) => state !== 'unpriced') }
      this.#shown.set(catalogue.models, shown)
    }
    return shown
  }

  /** The models of a group of an account, by default of the first one. */
  async modelsOf(groups: readonly string[], asked?: string): Promise<GroupCatalogue> {
    return this.#catalogue(withDefaultFirst(groups), asked)
  }

  /** What a model of a public group has cost there. */
  async prices(name: string, asked?: string): Promise<PriceHistory> {
    const { group, models } = await this.models(asked)
    const world = this.#parts.world()
    const row = models.some(model => model.name === name) ? world.model(name) : undefined
    if (group === null || row === undefined) throw noModel()
    const { prices } = this.#view(group)
    let kept = prices.get(name)
    if (kept === undefined) {
      const { store, clock } = this.#parts
      const read = async () => ({ group, model: name, data: await priceHistory(store, row, world.group(group)) })
      prices.set(name, (kept = new Kept(clock, HISTORY_MS, read)))
    }
    return kept.get()
  }

  async status(asked?: string): Promise<GroupStatus> {
    const { group } = await this.models(asked)
    return group === null ? NO_STATUS : this.#view(group).status.get()
  }

  async #readStatus(group: string): Promise<GroupStatus> {
    const [{ groups, models }, { from, shares, incidents }] = await Promise.all([
      this.models(group),
      this.#daysOf(group),
    ])
    const shown = new Set(models.map(({ name }) => name))
    return {
      group,
      groups,
      from,
      models: models.map(({ name, family, state, since }) => ({
        name,
        family,
        state,
        since,
        days: shares.get(name) ?? Array(STATUS_DAYS).fill(null),
      })),
      incidents: incidents.filter(({ model }) => shown.has(model)),
    }
  }

  #publicGroups(): string[] {
    return withDefaultFirst(this.#parts.world().publicGroups)
  }

  async #catalogue(groups: string[], asked: string | undefined): Promise<GroupCatalogue> {
    const group = asked ?? groups[0] ?? null
    if (group !== null && !groups.includes(group)) throw noGroup()
    return { group, groups, models: group === null ? NO_MODELS : await this.#view(group).models.get() }
  }

  #view(group: string): View {
    const world = this.#parts.world()
    let view = this.#views.get(group)
    if (view === undefined || view.world !== world) {
      // groups that are gone would else stay here for ever
      for (const [name, { world: made }] of this.#views) if (made !== world) this.#views.delete(name)
      const { clock } = this.#parts
      const models = new Kept<CatalogueModel[]>(clock, VIEW_MS, before => this.#read(world, group, before ?? []))
      const status = new Kept(clock, VIEW_MS, () => this.#readStatus(group))
      this.#views.set(group, (view = { world, models, status, prices: new Map() }))
    }
    return view
  }

  /** `before`: the rows of the last time. A page of a model is written anew only when its row is another one. */
  async #read(world: World, group: string, before: CatalogueModel[]): Promise<CatalogueModel[]> {
    const known = new Map(before.map(row => [row.name, row]))
    const none = { day: new Map(), week: new Map() }
    // without the store, or the processes that know how channels fare, the rest is shown all the same
    const [figures, resting] = await Promise.all([
      this.#figures.get().catch(() => none),
      this.#states.get().catch(() => NOBODY),
    ])
    return offersOf(world, group).map(offer => {
      const name = nameOf(group, offer.model.name)
      const ofModel = { day: figures.day.get(name) ?? NO_FIGURES, week: figures.week.get(name) ?? NO_FIGURES }
      const row = { ...rowOf(offer, resting), figures: ofModel }
      const last = known.get(row.name)
      return last !== undefined && isDeepStrictEqual(last, row) ? last : row
    })
  }

  async #readFigures(): Promise<{ day: FiguresOf; week: FiguresOf }> {
    const { store, clock } = this.#parts
    const since = async (days: number) =>
      new Map(
        (await store.usage.modelFigures(clock.now() - days * DAY_MS)).map(row => [
          nameOf(row.group, row.model),
          shownFigures(row),
        ]),
      )
    return { day: await since(1), week: await since(7) }
  }

  /** The names of the channels that rest. */
  async #readStates(): Promise<ReadonlySet<string>> {
    const states = await this.#parts.fleet.channelStates()
    return new Set([...states].flatMap(([name, { state }]) => (state === 'open' ? [name] : [])))
  }

  #daysOf(group: string): Promise<Days> {
    let days = this.#days.get(group)
    if (days === undefined) {
      const { store, clock } = this.#parts
      const groups = this.#publicGroups()
      for (const name of this.#days.keys()) if (!groups.includes(name)) this.#days.delete(name)
      days = new Kept(clock, STATUS_MS, () => readDays(store, group, clock.now()))
      this.#days.set(group, days)
    }
    return days.get()
  }
}

const NO_MODELS: CatalogueModel[] = []
const NOBODY: ReadonlySet<string> = new Set()
const NO_STATUS: GroupStatus = { group: null, groups: [], from: '1970-01-01', models: [], incidents: [] }

const withDefaultFirst = (groups: readonly string[]): string[] =>
  [...new Set(groups)].sort((a, b) => (a === DEFAULT_GROUP ? -1 : b === DEFAULT_GROUP ? 1 : a < b ? -1 : 1))

const noGroup = () => new OperationError('missing', { zh: '没有这个分组', en: 'there is no such group' })
const noModel = () =>
  new OperationError('missing', { zh: '该分组中没有这个模型', en: 'there is no such model in the group' })

/**
 * `offline`: an operator has taken it out of service for a while. `resting`: all its upstreams failed lately, and are
 * left alone for a moment. `unpriced`: it has no price, so it cannot be used.
 */
export const MODEL_STATES = ['available', 'offline', 'resting', 'unpriced'] as const
export type ModelState = (typeof MODEL_STATES)[number]

export interface CatalogueModel extends Modalities {
  name: string
  family: string | null
  /** Who makes it; null = the catalogue does not say. */
  vendor: string | null
  /** The protocols that the group offers it with, and that its price covers. */
  protocols: Protocol[]
  /** The protocols among them that are served by translation. */
  translated: Protocol[]
  state: ModelState
  /** Since when it is offline; null = it is not, or that is not known. */
  since: string | null
  price: ShownPrice | null
  /** In tokens; null = not known. */
  max_output: number | null
  max_input: number
  /** Tokens of a prompt and its answer together; null = not known. */
  context: number | null
  /** In which form pictures come; null = not known, or it makes none. */
  image_form: ImageForm | null
  figures: { day: Figures; week: Figures }
}

const stateOf = ({ price, offline, channels }: ModelOffer, resting: ReadonlySet<string>): ModelState => {
  if (price === null) return 'unpriced'
  if (offline) return 'offline'
  return channels.flat().every(channel => resting.has(channel)) ? 'resting' : 'available'
}

/** The row of a model, but for its figures. `resting`: the names of the channels that rest. */
export function rowOf(offer: ModelOffer, resting: ReadonlySet<string>): Omit<CatalogueModel, 'figures'> {
  const { model, protocols, translated, price, sinceMs } = offer
  return {
    name: model.name,
    family: model.family,
    vendor: model.vendor,
    protocols: [...protocols],
    translated: [...translated],
    state: stateOf(offer, resting),
    since: isoOrNull(sinceMs),
    price: price === null ? null : shownPrice(price),
    max_output: model.maxOutput,
    max_input: model.maxInput,
    context: contextOf(model),
    ...modalitiesOf(protocols, price),
    image_form: model.imageForm,
  }
}

/**
 * A value that is made when somebody asks for it, and kept for a while, so that however many people ask, it is made once in
 * that time. When it cannot be made, the last one serves on, and so it does when the next one is equal: what was made of it, such as
 * pages in every language and theme, need not be made again.
 */
export class Kept<T> {
  readonly #clock: Clock
  readonly #keepMs: number
  readonly #make: (before: T | null) => Promise<T>
  #value: { made: T } | null = null
  #under: Promise<T> | null = null
  #untilMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, keepMs: number, make: (before: T | null) => Promise<T>) {
    this.#clock = clock
    this.#keepMs = keepMs
    this.#make = make
  }

  /** Rejects when the value cannot be made and there is none from before. */
  get(): Promise<T> {
    if (this.#under !== null) return this.#under
    if (this.#value !== null && this.#clock.monotonic() < this.#untilMs) return Promise.resolve(this.#value.made)
    this.#under = this.#renew().finally(() => {
      this.#under = null
    })
    return this.#under
  }

  async #renew(): Promise<T> {
    try {
      const made = await this.#make(this.#value?.made ?? null)
      if (this.#value === null || !isDeepStrictEqual(this.#value.made, made)) this.#value = { made }
    } catch (error) {
      if (this.#value === null) throw error
    }
    this.#untilMs = this.#clock.monotonic() + this.#keepMs
    return this.#value.made
  }
}
