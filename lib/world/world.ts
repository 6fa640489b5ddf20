/** Everything built from one version of config and catalogue. Immutable: a change builds a new one and swaps it. */
import { AddressList } from '../access/ip.ts'
import { compileRoutes, type Routes } from '../channels/table.ts'
import { compileTariff, type Tariff } from '../pricing/tariff.ts'
import type { Catalog } from '../store/store.ts'
import type { Config } from '../terms/config.ts'
import type { Group, Model, Rate } from '../terms/records.ts'

/** Clients count before they ask, and ask for model lists at every start. */
const COUNTS_PER_REQUEST = 10
const DEFAULT_GROUP = { multiplier: 1_000_000, rate: null, hedgeMs: 0 }

export class World {
  readonly config: Config
  readonly routes: Routes
  readonly trusted: AddressList | null
  /** Names the catalogue knows: the only model names that may become metric labels. */
  readonly modelNames: ReadonlySet<string>
  readonly channelNames: readonly string[]
  /** Header names a client may use → the spec's name. */
  readonly aliases: ReadonlyMap<string, string>
  /** Of all groups; 0 = none hedges. */
  readonly shortestHedgeMs: number
  readonly #groups: ReadonlyMap<string, Group>
  readonly #models: ReadonlyMap<string, Model>
  readonly #tariffs = new Map<string, Map<string, Tariff | null>>()

  constructor(config: Config, catalog: Catalog) {
    this.config = config
    this.routes = compileRoutes(catalog)
    this.trusted = config.trustedProxies.length === 0 ? null : new AddressList(config.trustedProxies)
    this.#groups = new Map(catalog.groups.map(g => [g.name, g]))
    this.#models = new Map(catalog.models.map(m => [m.name, m]))
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

  rateOf(account: { rate: Rate | null }, group: string): Rate {
    return account.rate ?? this.group(group).rate ?? this.config.limits.rate
  }

  /** Of count routes and model lists. */
  countRateOf(account: { rate: Rate | null }, group: string): Rate {
    const { requests, minutes } = this.rateOf(account, group)
    return this.config.limits.count ?? { requests: requests * COUNTS_PER_REQUEST, minutes }
  }

  /** What the model costs in the group; null = not priced. Compiled on first use. */
  tariff(group: string, model: string): Tariff | null {
    let ofGroup = this.#tariffs.get(group)
    if (ofGroup === undefined) this.#tariffs.set(group, (ofGroup = new Map()))
    let tariff = ofGroup.get(model)
    if (tariff === undefined) {
      const row = this.#models.get(model)
      tariff = row === undefined ? null : compileTariff(row, this.group(group))
      if (row !== undefined) ofGroup.set(model, tariff) // only names the catalogue knows are remembered
    }
    return tariff
  }
}
