/**
 * The world is everything that is built from one version of config and catalogue, in the form in which requests look things up.
 * A world never changes. When config or catalogue change, a new world takes its place. A request takes the newest world when
 * its body is complete, and keeps that one to its end.
 */
import { AddressList } from '../access/ip.ts'
import { compileRoutes, type RouteTable } from './table.ts'
import { Cost } from '../pricing/bill.ts'
import { compileTariff, type Tariff } from '../pricing/tariff.ts'
import { type Catalog, EVERYWHERE } from '../store/catalogue/catalogue.ts'
import type { Config } from '../config/config.ts'
import { READ_ONS } from '../catalog-file/schema.ts'
import { instanceName } from '../terms/hops.ts'
import type { Group, Model, Rate } from '../terms/records.ts'

/**
 * The rate limit of token counts and model lists is this many times the rate limit of requests, because clients count tokens before
 * they ask, and fetch the model list at every start.
 */
const COUNTS_PER_REQUEST = 10
const DEFAULT_GROUP = { multiplier: 1_000_000, rate: null, hedgeMs: 0, readOns: READ_ONS, public: false }

export class World {
  readonly config: Config
  /** Under this name the gateways of this store know a request that comes back to them. */
  readonly instance: string
  readonly routes: RouteTable
  readonly trusted: AddressList | null
  /** The names of models in the catalogue. No other model name may become a label of a metric. */
  readonly modelNames: ReadonlySet<string>
  readonly channelNames: readonly string[]
  /** Header names that a client may use → the name that the header has in the code. */
  readonly aliases: ReadonlyMap<string, string>
  /** The shortest time after which any group hedges (asks a second upstream beside a silent one); 0 = no group hedges. */
  readonly shortestHedgeMs: number
  /** The names of the groups that everybody may see, sorted. */
  readonly publicGroups: readonly string[]
  readonly #groups: ReadonlyMap<string, Group>
  readonly #offlineSince: Catalog['offlineSince']
  readonly #models: ReadonlyMap<string, Model>
  readonly #priceVersions: ReadonlyMap<string, number>
  readonly #costs: ReadonlyMap<string, Cost>
  readonly #tariffs = new Map<string, Map<string, Tariff | null>>()

  constructor(config: Config, catalog: Catalog) {
    this.config = config
    this.instance = instanceName(config)
    this.routes = compileRoutes(catalog)
    this.trusted = config.trustedProxies.length === 0 ? null : new AddressList(config.trustedProxies)
    this.#groups = new Map(catalog.groups.map(g => [g.name, g]))
    this.publicGroups = catalog.groups.flatMap(({ name, public: shown }) => (shown ? [name] : [])).sort()
    this.#offlineSince = catalog.offlineSince
    this.#models = new Map(catalog.models.map(m => [m.name, m]))
    this.#priceVersions = catalog.priceVersions
    this.#costs = new Map(catalog.channels.flatMap(({ name, cost }) => (cost === null ? [] : [[name, new Cost(cost)]])))
    this.shortestHedgeMs = catalog.groups.reduce(
      (least, { hedgeMs: ms }) => (least > 0 && (ms === 0 || ms > least) ? least : ms),
      0,
    )
    this.modelNames = new Set(this.#models.keys())
    this.channelNames = catalog.channels.map(c => c.name)
    this.aliases = new Map(
      Object.entries(config.wire).flatMap(([name, others]) => [name, ...others].map(o => [o, name])),
    )
  }

  group(name: string): Group {
    return this.#groups.get(name) ?? { name, ...DEFAULT_GROUP }
  }

  model(name: string): Model | undefined {
    return this.#models.get(name)
  }

  /** The time since which a model is temporarily offline in a group, in ms since 1970; null = it is not, or that is not known. */
  offlineSince(model: string, group: string): number | null {
    const since = this.#offlineSince.get(model)
    return since?.get(group) ?? since?.get(EVERYWHERE) ?? null
  }

  /** The cost of answers at a channel: what its upstream takes; null = not known. */
  cost(channel: string): Cost | null {
    return this.#costs.get(channel) ?? null
  }

  rateOf(account: { rate: Rate | null }, group: string): Rate {
    return account.rate ?? this.group(group).rate ?? this.config.limits.rate
  }

  /** The rate limit of token counts and model lists. */
  countRateOf(account: { rate: Rate | null }, group: string): Rate {
    const { requests, minutes } = this.rateOf(account, group)
    return this.config.limits.count ?? { requests: requests * COUNTS_PER_REQUEST, minutes }
  }

  /** The tariff of the model in the group; null = it has no price. It is compiled when it is first asked for. */
  tariff(group: string, model: string): Tariff | null {
    let ofGroup = this.#tariffs.get(group)
    if (ofGroup === undefined) this.#tariffs.set(group, (ofGroup = new Map()))
    let tariff = ofGroup.get(model)
    if (tariff === undefined) {
      const row = this.#models.get(model)
      tariff = row === undefined ? null : compileTariff(row, this.group(group), this.#priceVersions.get(model))
      // only names of the catalogue are remembered, so that clients cannot fill the memory
      if (row !== undefined) ofGroup.set(model, tariff)
    }
    return tariff
  }
}
