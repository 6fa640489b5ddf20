/** What the rules look at: a config, the rows of a catalogue, and the machine, with what several rules want to know of them. */
import type { Protocol } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import type { CatalogAccount, CatalogKey } from '../catalog-file/rows.ts'
import type { Channel, Group, Model } from '../terms/records.ts'
import type { Config } from '../config/config.ts'
import { whereIs } from './hosts.ts'

/** The machine on which the gateway is to run. */
export interface Machine {
  isFolder(path: string): boolean
  /** The most files and connections that a process may have open; null = not known. */
  openFiles: number | null
  cores: number
}

/** What there is to look at. What is not known is null or left empty, and nothing is said of it. */
export interface Seen {
  config: Config | null
  groups: readonly Group[]
  models: readonly Model[]
  channels: readonly Channel[]
  /** The keys of a file: the store's are too many, and have no secrets. */
  accounts: readonly CatalogAccount[]
  keys: readonly CatalogKey[]
  /** Whether this is all that a file says, whose emptiness would be a mistake. */
  file: boolean
  machine: Machine | null
  nowMs: number
}

export const NOTHING_SEEN: Seen = {
  config: null,
  groups: [],
  models: [],
  channels: [],
  accounts: [],
  keys: [],
  file: false,
  machine: null,
  nowMs: 0,
}

export class Sight {
  readonly seen: Seen
  /** Enabled channels by the models that they serve. */
  readonly #serving: Map<string, Channel[]>
  /** Channels that lead to somebody else's machine, who wants money for it. */
  readonly #public: ReadonlySet<Channel>

  constructor(seen: Seen) {
    this.seen = seen
    const pairs = seen.channels
      .filter(({ status }) => status === 'enabled')
      .flatMap(channel => Object.keys(channel.models).map(model => [model, channel] as const))
    const grouped = Map.groupBy(pairs, ([model]) => model)
    this.#public = new Set(seen.channels.filter(({ baseUrl }) => whereIs(new URL(baseUrl).hostname) === 'public'))
    this.#serving = new Map([...grouped].map(([model, list]) => [model, list.map(([, channel]) => channel)]))
  }

  /** Names of the models that an enabled channel serves. */
  get served(): Iterable<string> {
    return this.#serving.keys()
  }

  serving(model: string): readonly Channel[] {
    return this.#serving.get(model) ?? []
  }

  /** The protocols that a model's enabled channels speak. */
  protocolsOf(model: string): Protocol[] {
    return [...new Set(this.serving(model).flatMap(({ protocols }) => protocols))]
  }

  /** Whether what a model costs can be judged: not where only machines of the operator's own networks serve it. */
  isSold(model: string): boolean {
    const channels = this.serving(model)
    return channels.length === 0 || channels.some(channel => this.isPublic(channel))
  }

  isPublic(channel: Channel): boolean {
    return this.#public.has(channel)
  }

  /** The factor of a group's prices, in millionths. */
  multiplierOf(group: string): number {
    return this.seen.groups.find(({ name }) => name === group)?.multiplier ?? 1_000_000
  }
}

/** Protocols whose answers are text, so that their price has an output. */
export const isText = (protocol: Protocol): boolean =>
  protocolRow(protocol).price.cover.some(set => set.includes('input') && set.includes('output')) &&
  !protocolRow(protocol).price.pictures &&
  !protocolRow(protocol).price.cover.some(set => set.includes('second'))
