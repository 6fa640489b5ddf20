/**
 * The routing table: for each group, model and protocol the channels that can serve it, in tiers by priority. It is
 * compiled from the catalogue when a world is built, and never changes.
 */
import { hash as digest } from 'node:crypto'
import type { Catalog } from '../store/store.ts'
import type { Channel, ChannelKey } from '../terms/channel.ts'
import { FORMS, isOffline, type Model, type Protocol } from '../terms/records.ts'
import { type Credential, credentialOf, secretsIn } from '../terms/upstream-credentials.ts'
import { type AnswersOf, type Kind, type KindName, kindOf } from '../terms/upstream-kinds.ts'
import { countPathAt, pathAt, queryAt } from '../terms/upstream-paths.ts'
import type { Target } from '../translate/protocol.ts'
import { TRANSLATED, translatedRow } from '../translate/table.ts'
import { type Connection, connectionTo } from './connection.ts'
import { targetOf } from './target.ts'

/** The number of hexadecimal digits of a fingerprint: 64 bits, enough for all keys of a store to differ. */
const FINGERPRINT_LENGTH = 16

/** One of a channel's keys. */
export class CompiledKey {
  readonly secret: string
  /** What requests are signed with; null = the key is plain, and is sent itself. */
  readonly credential: Credential | null
  /** What of it nobody may see. */
  readonly secrets: readonly string[]
  /** Tokens that were got with it lately and that requests carry in its place. */
  minted: readonly string[] = []
  /** Most attempts open at once; 0 = unlimited. */
  readonly maxConcurrency: number
  /** Position in `CompiledChannel.keys`. */
  readonly index: number
  /** Hash for affinity, the same in every process and world. */
  readonly hash: number
  /** The beginning of the key's SHA-256, which identifies the key without revealing it. */
  readonly fingerprint: string

  constructor(row: ChannelKey, index: number, kind: KindName | null) {
    this.secret = row.key
    this.credential = credentialOf(kind, row.key)
    this.secrets = this.credential === null ? [row.key] : secretsIn(this.credential)
    this.maxConcurrency = row.maxConcurrency
    this.index = index
    this.hash = hashText(row.key)
    this.fingerprint = digest('sha256', row.key, 'hex').slice(0, FINGERPRINT_LENGTH)
  }
}

const NOTHING_SPECIAL: Kind['special'] = {}

/** A channel in the form that requests need. There is one object per channel and world. */
export class CompiledChannel {
  readonly name: string
  readonly connection: Connection
  /** The path of the upstream's address, without a slash at its end. */
  readonly basePath: string
  readonly kind: KindName | null
  /** The whole path of each protocol, with the placeholders `{model}` and `{verb}`. */
  readonly paths: Readonly<Record<Protocol, string>>
  /** Where tokens are counted, as far as the kind has a path of its own for that. */
  readonly countPaths: Readonly<Partial<Record<Protocol, string>>>
  /** What is different at the kind beside the path. */
  readonly special: Kind['special']
  /** Whose answers its upstream gives; null = those of the protocols. */
  readonly answers: AnswersOf | null
  readonly protocols: readonly Protocol[]
  /** Added to the query of every request, encoded as in a URL; empty = nothing. */
  readonly query: string
  /** Names of the parameters in `query`, which replace the client's of the same name. */
  readonly queryNames: ReadonlySet<string>
  readonly keys: readonly CompiledKey[]
  /** Most attempts open at once; 0 = unlimited. */
  readonly maxConcurrency: number
  readonly authHeader: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly passHeaders: readonly string[]
  readonly enabled: boolean
  readonly weight: number
  readonly priority: number
  /** Hash for affinity, the same in every process and world. */
  readonly hash: number
  /** Position in `Routes.channels`. */
  readonly index: number
  /** The upstream's name of a model → our names that lead to it. */
  readonly modelsOf: ReadonlyMap<string, readonly string[]>

  constructor(channel: Channel, index: number) {
    const url = new URL(channel.baseUrl)
    this.name = channel.name
    this.connection = connectionTo(url.origin, { ...channel, reserved: channel.private })
    this.basePath = url.pathname.replace(/\/+$/, '')
    this.kind = channel.kind
    this.paths = Object.fromEntries(FORMS.map(protocol => [protocol, pathAt(channel, protocol)])) as never
    this.countPaths = Object.fromEntries(
      FORMS.map(protocol => [protocol, countPathAt(channel, protocol)]).filter(([, path]) => path !== undefined),
    )
    this.special = kindOf(channel.kind)?.special ?? NOTHING_SPECIAL
    this.answers = kindOf(channel.kind)?.answers ?? null
    this.protocols = channel.protocols
    const query = queryAt(channel)
    this.query = new URLSearchParams(query).toString()
    this.queryNames = new Set(Object.keys(query))
    this.keys = channel.keys.map((row, i) => new CompiledKey(row, i, channel.kind))
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

/** A channel that can serve a request, with the upstream's name of the model. */
export interface Candidate {
  readonly channel: CompiledChannel
  readonly upstreamModel: string
  /** The channel speaks another protocol than the client, and the request is translated. null = it speaks the client's. */
  readonly lane: LaneOfCandidate | null
}

/** How a candidate serves clients of a protocol that its channel does not speak. */
export interface LaneOfCandidate {
  /** The protocol in which the channel is asked. */
  readonly via: Protocol
  readonly target: Target
}

/**
 * All candidates for one group, model and protocol, in tiers by falling priority. There are none where the model is
 * temporarily offline: such a request is refused as if every channel were switched off. Those that translate stand in tiers
 * of their own, behind all others.
 */
export interface Route {
  readonly tiers: readonly (readonly Candidate[])[]
  /** Some of the candidates translate. */
  readonly translates: boolean
}

interface Building extends Route {
  readonly tiers: Candidate[][]
  translates: boolean
}

/** The routes of one model in one group. */
class ModelRoutes {
  readonly ofProtocol = new Map<Protocol, Building>()
  /** Protocols that an enabled channel speaks, also while the model is offline. */
  readonly spoken: Protocol[] = []
  /** Those of them that an enabled channel serves by translation, and none speaks. */
  readonly translated: Protocol[] = []
  readonly offline: boolean

  constructor(offline: boolean) {
    this.offline = offline
  }

  add(protocol: Protocol, candidate: Candidate): void {
    let route = this.ofProtocol.get(protocol)
    if (route === undefined) this.ofProtocol.set(protocol, (route = { tiers: [], translates: false }))
    if (candidate.channel.enabled && !this.spoken.includes(protocol)) {
      this.spoken.push(protocol)
      if (candidate.lane !== null) this.translated.push(protocol)
    }
    if (this.offline) return
    if (candidate.lane !== null) route.translates = true
    const last = route.tiers.at(-1)
    const [first] = last ?? []
    const isSameTier =
      first?.channel.priority === candidate.channel.priority && (first.lane === null) === (candidate.lane === null)
    if (isSameTier) last?.push(candidate)
    else route.tiers.push([candidate])
  }

  get offered(): readonly Protocol[] {
    return this.offline ? [] : this.spoken
  }
}

/** A model that a group offers, or would offer if it were not temporarily offline. */
export interface Listed {
  readonly model: string
  /** Protocols that an enabled channel of the group speaks. */
  readonly protocols: readonly Protocol[]
  /** Those of them that no enabled channel speaks, and one serves by translation. */
  readonly translated: readonly Protocol[]
  readonly offline: boolean
}

export class Routes {
  readonly channels: readonly CompiledChannel[]
  /** The connections of all channels, by id. */
  readonly connections: ReadonlyMap<string, Connection>
  readonly #groups = new Map<string, Map<string, ModelRoutes>>()
  readonly #models = new Map<string, readonly string[]>()
  readonly #targets = new Map<string, Target>()
  readonly #rows: ReadonlyMap<string, Model>

  /** `models`: the rows of the catalogue, of which some may be temporarily offline. */
  constructor(rows: readonly Channel[], models: readonly Model[]) {
    this.#rows = new Map(models.map(row => [row.name, row]))
    const sorted = [...rows].sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))
    this.channels = sorted.map((row, index) => new CompiledChannel(row, index))
    this.connections = new Map(this.channels.map(({ connection }) => [connection.id, connection]))
    for (const [index, row] of sorted.entries()) this.#addChannel(row, this.channels[index] as CompiledChannel)
    // behind all that speak the client's protocol
    for (const [index, row] of sorted.entries()) this.#addTranslated(row, this.channels[index] as CompiledChannel)
    for (const [group, models] of this.#groups) {
      const offered = [...models].filter(([, routes]) => routes.offered.length > 0)
      this.#models.set(group, offered.map(([model]) => model).sort())
    }
  }

  #addChannel(row: Channel, channel: CompiledChannel): void {
    for (const [model, upstreamModel] of Object.entries(row.models)) {
      const candidate = { channel, upstreamModel, lane: null }
      for (const group of new Set(row.groups)) {
        for (const protocol of new Set(row.protocols)) this.#modelRoutes(group, model).add(protocol, candidate)
      }
    }
  }

  #addTranslated(row: Channel, channel: CompiledChannel): void {
    const { translate, protocols } = row
    for (const protocol of TRANSLATED) {
      if (protocols.includes(protocol) || (translate !== true && !translate.includes(protocol))) continue
      const via = translatedRow(protocol)?.via.find(one => protocols.includes(one) && TRANSLATED.includes(one))
      if (via === undefined) continue
      for (const [model, upstreamModel] of Object.entries(row.models)) {
        const lane = { via, target: this.#target(targetOf(row, this.#rows.get(model), upstreamModel, via), via) }
        for (const group of new Set(row.groups))
          this.#modelRoutes(group, model).add(protocol, { channel, upstreamModel, lane })
      }
    }
  }

  /** Channels that are alike have one target, so that a request is written once for all of them. */
  #target(target: Target, via: Protocol): Target {
    const like = JSON.stringify([via, target])
    const known = this.#targets.get(like) ?? target
    this.#targets.set(like, known)
    return known
  }

  #modelRoutes(group: string, model: string): ModelRoutes {
    let models = this.#groups.get(group)
    if (models === undefined) this.#groups.set(group, (models = new Map()))
    let routes = models.get(model)
    if (routes === undefined) {
      const row = this.#rows.get(model)
      models.set(model, (routes = new ModelRoutes(row !== undefined && isOffline(row, group))))
    }
    return routes
  }

  /** Returns undefined when no channel of the group serves the model on this protocol. */
  find(group: string, model: string, protocol: Protocol): Route | undefined {
    return this.#groups.get(group)?.get(model)?.ofProtocol.get(protocol)
  }

  /** The names of the models that an enabled channel of the group serves and that are not offline, sorted. */
  models(group: string): readonly string[] {
    return this.#models.get(group) ?? []
  }

  /** The protocols on which an enabled channel of the group serves the model, also by translation; none while it is offline. */
  protocolsOf(group: string, model: string): readonly Protocol[] {
    return this.#groups.get(group)?.get(model)?.offered ?? []
  }

  /** Those of them that no enabled channel speaks, and one serves by translation. */
  translatedOf(group: string, model: string): readonly Protocol[] {
    return this.#groups.get(group)?.get(model)?.translated ?? []
  }

  /** What the catalogue lists for a group, by name: what it offers, and what is only temporarily offline there. */
  listed(group: string): Listed[] {
    return [...(this.#groups.get(group) ?? [])]
      .flatMap(([model, { spoken, translated, offline }]) =>
        spoken.length > 0 ? [{ model, protocols: spoken, translated, offline }] : [],
      )
      .sort((a, b) => (a.model < b.model ? -1 : 1))
  }
}

export const compileRoutes = ({
  channels,
  models = [],
}: Pick<Catalog, 'channels'> & Partial<Pick<Catalog, 'models'>>): Routes => new Routes(channels, models)

/** The 32-bit FNV-1a hash of a text. */
function hashText(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}
