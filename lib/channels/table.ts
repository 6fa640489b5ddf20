/** The catalogue compiled for look-ups: group, model, protocol → tiers of candidates. Immutable, built with its world. */
import type { Catalog } from '../store/store.ts'
import type { Channel, Protocol } from '../terms/records.ts'

/** A channel as requests need it. One object per channel and world. */
export class CompiledChannel {
  readonly name: string
  /** `https://host:port` */
  readonly origin: string
  /** Before the protocol's own path; without a slash at its end. */
  readonly basePath: string
  readonly key: string
  readonly authHeader: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly passHeaders: readonly string[]
  readonly enabled: boolean
  readonly weight: number
  readonly priority: number
  /** For affinity: the same in every process and world. */
  readonly hash: number

  constructor(channel: Channel) {
    const url = new URL(channel.baseUrl)
    this.name = channel.name
    this.origin = url.origin
    this.basePath = url.pathname.replace(/\/+$/, '')
    this.key = channel.key
    this.authHeader = channel.authHeader?.toLowerCase() ?? null
    this.headers = channel.headers
    this.passHeaders = channel.passHeaders
    this.enabled = channel.status === 'enabled'
    this.weight = channel.weight
    this.priority = channel.priority
    this.hash = hashText(channel.name)
  }
}

export interface Candidate {
  channel: CompiledChannel
  upstreamModel: string
}

/** Everything that may serve one model of a group through one protocol: tiers by falling priority. */
export interface Route {
  readonly tiers: readonly (readonly Candidate[])[]
}

export class Routes {
  readonly #routes = new Map<string, Candidate[][]>()
  /** Group → model → protocols, of enabled channels only. */
  readonly #offered = new Map<string, Map<string, Set<Protocol>>>()
  readonly origins = new Set<string>()

  constructor(channels: readonly Channel[]) {
    for (const row of [...channels].sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))) {
      const channel = new CompiledChannel(row)
      this.origins.add(channel.origin)
      for (const group of row.groups) {
        for (const [model, upstreamModel] of Object.entries(row.models)) {
          for (const protocol of row.protocols) {
            this.#add(group, model, protocol, { channel, upstreamModel })
            if (channel.enabled) this.#offer(group, model, protocol)
          }
        }
      }
    }
  }

  #add(group: string, model: string, protocol: Protocol, candidate: Candidate): void {
    const key = routeKey(group, model, protocol)
    const tiers = this.#routes.get(key) ?? []
    this.#routes.set(key, tiers)
    const last = tiers.at(-1)
    if (last?.[0]?.channel.priority === candidate.channel.priority) last.push(candidate)
    else tiers.push([candidate])
  }

  #offer(group: string, model: string, protocol: Protocol): void {
    const models = this.#offered.get(group) ?? new Map<string, Set<Protocol>>()
    this.#offered.set(group, models)
    models.set(model, (models.get(model) ?? new Set()).add(protocol))
  }

  /** undefined: no channel of the group names the model for this protocol. */
  find(group: string, model: string, protocol: Protocol): Route | undefined {
    const tiers = this.#routes.get(routeKey(group, model, protocol))
    return tiers === undefined ? undefined : { tiers }
  }

  /** Sorted names of the models that an enabled channel of the group serves. */
  models(group: string): string[] {
    return [...(this.#offered.get(group)?.keys() ?? [])].sort()
  }

  protocolsOf(group: string, model: string): Protocol[] {
    return [...(this.#offered.get(group)?.get(model) ?? [])]
  }
}

export const compileRoutes = (catalog: Catalog): Routes => new Routes(catalog.channels)

/** The separator is in no name that YAML or JSON gives without an escape, and in no model name that a channel has. */
const routeKey = (group: string, model: string, protocol: Protocol): string => `${protocol}\0${group}\0${model}`

/** FNV-1a, 32 bits. */
function hashText(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}
