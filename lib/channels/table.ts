/** The catalogue compiled for look-ups: group, model, protocol → tiers of candidates. Immutable, built with its world. */
import { hash as digest } from 'node:crypto'
import type { Catalog } from '../store/store.ts'
import type { Channel, ChannelKey } from '../terms/channel.ts'
import { PROTOCOLS, type Protocol } from '../terms/records.ts'
import type { KindName } from '../terms/upstream-kinds.ts'
import { pathAt, queryAt } from '../terms/upstream-paths.ts'

/** How an upstream is reached. */
export interface Connection {
  /** Of everything below: equal ones share a pool. */
  readonly id: string
  /** `https://host:port` */
  readonly origin: string
  readonly proxy: string | null
  readonly ca: string | null
  readonly http2: boolean
  /** Also at a reserved address. */
  readonly reserved: boolean
}

function connectionOf({ proxy, ca, http2, private: reserved }: Channel, origin: string): Connection {
  return { id: JSON.stringify([origin, proxy, ca, http2, reserved]), origin, proxy, ca, http2, reserved }
}

/** Hexadecimal digits of a fingerprint: enough for all keys of a store to differ. */
const FINGERPRINT_LENGTH = 16

/** One of a channel's keys. */
export class CompiledKey {
  readonly secret: string
  /** 0 = unlimited. */
  readonly maxConcurrency: number
  /** Place in `CompiledChannel.keys`. */
  readonly index: number
  /** For affinity: the same in every process and world. */
  readonly hash: number
  /** Identifies the key without revealing it: the beginning of its SHA-256. */
  readonly fingerprint: string

  constructor(row: ChannelKey, index: number) {
    this.secret = row.key
    this.maxConcurrency = row.maxConcurrency
    this.index = index
    this.hash = hashText(row.key)
    this.fingerprint = digest('sha256', row.key, 'hex').slice(0, FINGERPRINT_LENGTH)
  }
}

/** A channel as requests need it. One object per channel and world. */
export class CompiledChannel {
  readonly name: string
  readonly connection: Connection
  /** Of its address; without a slash at its end. */
  readonly basePath: string
  readonly kind: KindName | null
  /** Whole paths, with `{model}` and `{verb}` where they belong. */
  readonly paths: Readonly<Record<Protocol, string>>
  readonly protocols: readonly Protocol[]
  /** Added to every request's query, as it stands in an address; empty = nothing. */
  readonly query: string
  readonly queryNames: ReadonlySet<string>
  readonly keys: readonly CompiledKey[]
  /** 0 = unlimited. */
  readonly maxConcurrency: number
  readonly authHeader: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly passHeaders: readonly string[]
  readonly enabled: boolean
  readonly weight: number
  readonly priority: number
  /** For affinity: the same in every process and world. */
  readonly hash: number
  /** Place in `Routes.channels`. */
  readonly index: number
  /** Names that the upstream knows models by → ours. */
  readonly modelsOf: ReadonlyMap<string, readonly string[]>

  constructor(channel: Channel, index: number) {
    const url = new URL(channel.baseUrl)
    this.name = channel.name
    this.connection = connectionOf(channel, url.origin)
    this.basePath = url.pathname.replace(/\/+$/, '')
    this.kind = channel.kind
    this.paths = Object.fromEntries(PROTOCOLS.map(protocol => [protocol, pathAt(channel, protocol)])) as never
    this.protocols = channel.protocols
    const query = queryAt(channel)
    this.query = new URLSearchParams(query).toString()
    this.queryNames = new Set(Object.keys(query))
    this.keys = channel.keys.map((row, i) => new CompiledKey(row, i))
    this.maxConcurrency = channel.maxConcurrency
    this.authHeader = channel.authHeader?.toLowerCase() ?? null
    this.headers = channel.headers
    this.passHeaders = channel.passHeaders
    this.enabled = channel.status === 'enabled' && channel.sealed !== true
    this.weight = channel.weight
    this.priority = channel.priority
    this.hash = hashText(channel.name)
    this.index = index
    this.modelsOf = Map.groupBy(Object.keys(channel.models), model => channel.models[model] as string)
  }
}

export interface Candidate {
  readonly channel: CompiledChannel
  readonly upstreamModel: string
}

/** Everything that may serve one model of a group through one protocol: tiers by falling priority. */
export interface Route {
  readonly tiers: readonly (readonly Candidate[])[]
}

interface Building extends Route {
  readonly tiers: Candidate[][]
}

/** What a group has of one model. */
class ModelRoutes {
  readonly ofProtocol = new Map<Protocol, Building>()
  /** Protocols that an enabled channel speaks. */
  readonly offered: Protocol[] = []

  add(protocol: Protocol, candidate: Candidate): void {
    let route = this.ofProtocol.get(protocol)
    if (route === undefined) this.ofProtocol.set(protocol, (route = { tiers: [] }))
    const last = route.tiers.at(-1)
    if (last?.[0]?.channel.priority === candidate.channel.priority) last.push(candidate)
    else route.tiers.push([candidate])
    if (candidate.channel.enabled && !this.offered.includes(protocol)) this.offered.push(protocol)
  }
}

export class Routes {
  readonly channels: readonly CompiledChannel[]
  /** All ways to upstreams, by id. */
  readonly connections: ReadonlyMap<string, Connection>
  readonly #groups = new Map<string, Map<string, ModelRoutes>>()
  readonly #models = new Map<string, readonly string[]>()

  constructor(rows: readonly Channel[]) {
    const sorted = [...rows].sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))
    this.channels = sorted.map((row, index) => new CompiledChannel(row, index))
    this.connections = new Map(this.channels.map(({ connection }) => [connection.id, connection]))
    for (const [index, row] of sorted.entries()) this.#addChannel(row, this.channels[index] as CompiledChannel)
    for (const [group, models] of this.#groups) {
      const offered = [...models].filter(([, routes]) => routes.offered.length > 0)
      this.#models.set(group, offered.map(([model]) => model).sort())
    }
  }

  #addChannel(row: Channel, channel: CompiledChannel): void {
    for (const [model, upstreamModel] of Object.entries(row.models)) {
      const candidate = { channel, upstreamModel }
      for (const group of new Set(row.groups)) {
        for (const protocol of new Set(row.protocols)) this.#modelRoutes(group, model).add(protocol, candidate)
      }
    }
  }

  #modelRoutes(group: string, model: string): ModelRoutes {
    let models = this.#groups.get(group)
    if (models === undefined) this.#groups.set(group, (models = new Map()))
    let routes = models.get(model)
    if (routes === undefined) models.set(model, (routes = new ModelRoutes()))
    return routes
  }

  /** undefined: no channel of the group names the model for this protocol. */
  find(group: string, model: string, protocol: Protocol): Route | undefined {
    return this.#groups.get(group)?.get(model)?.ofProtocol.get(protocol)
  }

  /** Sorted names of the models that an enabled channel of the group serves. */
  models(group: string): readonly string[] {
    return this.#models.get(group) ?? []
  }

  protocolsOf(group: string, model: string): readonly Protocol[] {
    return this.#groups.get(group)?.get(model)?.offered ?? []
  }
}

export const compileRoutes = (catalog: Catalog): Routes => new Routes(catalog.channels)

/** FNV-1a, 32 bits. */
function hashText(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}
