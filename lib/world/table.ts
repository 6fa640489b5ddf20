/**
 * The routing table: for each group, model and protocol the channels that can serve it, in tiers by priority. It is
 * compiled from the catalogue when a world is built, and never changes.
 */
import type { Catalog } from '../store/catalogue/catalogue.ts'
import { CLIENT_PROTOCOLS, type Protocol } from '../protocols/names.ts'
import { type Channel, isOffline, type Model, type ModelEffort } from '../terms/records.ts'
import { type TranslationTarget, plainTarget } from '../translate/ask.ts'
import { TRANSLATED, translatedRow, translatedUpstream } from '../translate/table.ts'
import { CompiledChannel, type UpstreamConnection } from './compiled-channel.ts'
import type { OutputBounds } from '../protocols/words/maxima.ts'
import { type KindName, kindLike, type OtherForm } from '../catalog-file/upstreams.ts'

/** A model that a group offers, or would offer if it were not temporarily offline. */
export interface Listed {
  readonly model: string
  /** Protocols that an enabled channel of the group speaks. */
  readonly protocols: readonly Protocol[]
  /** The protocols among these that no enabled channel speaks, and one serves by translation. */
  readonly translated: readonly Protocol[]
  readonly offline: boolean
}

export class RouteTable {
  readonly channels: readonly CompiledChannel[]
  /** The connections of all channels, by id. */
  readonly connections: ReadonlyMap<string, UpstreamConnection>
  readonly #groups = new Map<string, Map<string, ModelRoutes>>()
  readonly #models = new Map<string, readonly string[]>()
  readonly #targets = new Map<string, TranslationTarget>()
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
      for (const protocol of new Set(row.protocols)) {
        if (!CLIENT_PROTOCOLS.includes(protocol)) continue
        const candidate = {
          channel,
          upstreamModel,
          translation: null,
          form: channel.otherForm(protocol, upstreamModel),
        }
        for (const group of new Set(row.groups)) this.#modelRoutes(group, model).add(protocol, candidate)
      }
    }
  }

  #addTranslated(row: Channel, channel: CompiledChannel): void {
    const { translate, protocols } = row
    for (const protocol of TRANSLATED) {
      if (protocols.includes(protocol) || (translate !== true && !translate.includes(protocol))) continue
      const via = translatedRow(protocol)?.via.find(one => protocols.includes(one))
      if (via === undefined) continue
      for (const [model, upstreamModel] of Object.entries(row.models)) {
        const translation = { via, target: this.#target(targetOf(row, this.#rows.get(model), upstreamModel, via), via) }
        for (const group of new Set(row.groups))
          this.#modelRoutes(group, model).add(protocol, { channel, upstreamModel, translation, form: null })
      }
    }
  }

  /** Channels that are alike have one target, so that a request is written once for all of them. */
  #target(target: TranslationTarget, via: Protocol): TranslationTarget {
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

  /** All routes on which the channel is asked for a model by this name. */
  *through(channel: string, upstreamModel: string): Generator<Route> {
    const isIt = (one: Candidate) => one.channel.name === channel && one.upstreamModel === upstreamModel
    for (const models of this.#groups.values())
      for (const { ofProtocol } of models.values())
        for (const route of ofProtocol.values()) if (route.tiers.some(tier => tier.some(isIt))) yield route
  }

  /** The names of the models that an enabled channel of the group serves and that are not offline, sorted. */
  models(group: string): readonly string[] {
    return this.#models.get(group) ?? []
  }

  /** The protocols on which an enabled channel of the group serves the model, also by translation; none while it is offline. */
  protocolsOf(group: string, model: string): readonly Protocol[] {
    return this.#groups.get(group)?.get(model)?.offered ?? []
  }

  /** The protocols among these that no enabled channel speaks, and one serves by translation. */
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
}: Pick<Catalog, 'channels'> & Partial<Pick<Catalog, 'models'>>): RouteTable => new RouteTable(channels, models)

// --- routes

/** A channel that can serve a request, with the upstream's name of the model. */
export interface Candidate {
  readonly channel: CompiledChannel
  readonly upstreamModel: string
  /** The channel speaks another protocol than the client, and the request is translated. null = it speaks the client's. */
  readonly translation: TranslationWay | null
  /** The form in which its kind is asked for the model in the client's protocol; null = that protocol's own. */
  readonly form: OtherForm | null
}

/** How a candidate serves clients of a protocol that its channel does not speak. */
export interface TranslationWay {
  /** The protocol in which the channel is asked. */
  readonly via: Protocol
  readonly target: TranslationTarget
}

/**
 * All candidates for one group, model and protocol, in tiers by falling priority. There are none where the model is
 * temporarily offline: such a request is refused as if every channel were switched off. Those that translate stand in tiers
 * of their own, behind all others.
 */
export interface Route {
  readonly tiers: readonly (readonly Candidate[])[]
  /** Some of the candidates translate, or are asked in another form: not every request can be said to them. */
  readonly translates: boolean
  /** How those that speak the client's protocol bound their answers: one for each way that differs. */
  readonly bounds: readonly OutputBounds[]
}

interface Building extends Route {
  readonly tiers: Candidate[][]
  translates: boolean
  readonly bounds: OutputBounds[]
}

class ModelRoutes {
  readonly ofProtocol = new Map<Protocol, Building>()
  /** Protocols that an enabled channel speaks, also while the model is offline. */
  readonly spoken: Protocol[] = []
  /** The protocols among these that an enabled channel serves by translation, and none speaks. */
  readonly translated: Protocol[] = []
  readonly offline: boolean

  constructor(offline: boolean) {
    this.offline = offline
  }

  add(protocol: Protocol, candidate: Candidate): void {
    let route = this.ofProtocol.get(protocol)
    if (route === undefined) this.ofProtocol.set(protocol, (route = { tiers: [], translates: false, bounds: [] }))
    if (candidate.channel.enabled && !this.spoken.includes(protocol)) {
      this.spoken.push(protocol)
      if (candidate.translation !== null) this.translated.push(protocol)
    }
    if (this.offline) return
    if (candidate.translation !== null || candidate.form !== null) route.translates = true
    if (candidate.translation === null && candidate.channel.enabled)
      addBounds(route.bounds, candidate.channel.bounds[protocol])
    const last = route.tiers.at(-1)
    const [first] = last ?? []
    const isSameTier =
      first?.channel.priority === candidate.channel.priority &&
      (first.translation === null) === (candidate.translation === null)
    if (isSameTier) last?.push(candidate)
    else route.tiers.push([candidate])
  }

  get offered(): readonly Protocol[] {
    return this.offline ? [] : this.spoken
  }
}

function addBounds(all: OutputBounds[], one: OutputBounds): void {
  const { reads, within, readsBudget } = one
  if (!all.some(it => it.reads === reads && it.within === within && it.readsBudget === readsBudget)) all.push(one)
}

// --- translation at an upstream

/** What differs at kinds of provider in chat completions. */
const AT_KIND: Partial<Readonly<Record<KindName, Partial<TranslationTarget>>>> = {
  openai: { maxOutputMember: 'max_completion_tokens', cacheKeys: true },
  azure: { maxOutputMember: 'max_completion_tokens', cacheKeys: true },
  'azure-deployments': { maxOutputMember: 'max_completion_tokens', cacheKeys: true },
  bedrock: { maxOutputMember: 'max_completion_tokens' },
  'bedrock-api-key': { maxOutputMember: 'max_completion_tokens' },
  'bedrock-mantle': { maxOutputMember: 'max_completion_tokens' },
  deepseek: { thoughtMember: 'reasoning_content' },
  dashscope: { prefill: 'partial' },
  mistral: { toolIds: 'alnum9', prefill: 'prefix' },
  moonshot: { thoughtMember: 'reasoning_content', prefill: 'partial' },
  openrouter: { thoughtMember: 'reasoning', topK: true, prefill: 'plain' },
  zhipu: { thoughtMember: 'reasoning_content' },
}

type SearchesAt = TranslationTarget['search']

/**
 * How kinds of provider are asked to search, by the protocol in which they are asked; of those that are not here nothing is known but
 * that a protocol's own form is the best guess. What has no search at a provider is null.
 */
const SEARCH_AT: Partial<Readonly<Record<Protocol, Partial<Readonly<Record<KindName, SearchesAt>>>>>> = {
  messages: {
    bedrock: null,
    'bedrock-api-key': null,
    'bedrock-mantle': null,
    dashscope: null,
    deepseek: null,
    minimax: null,
    moonshot: null,
    siliconflow: null,
    zhipu: null,
  },
  chat: {
    anthropic: null,
    azure: null,
    'azure-deployments': null,
    bedrock: null,
    'bedrock-api-key': null,
    'bedrock-mantle': null,
    cerebras: null,
    cohere: null,
    dashscope: 'dashscope',
    deepinfra: null,
    deepseek: null,
    fireworks: null,
    gemini: null,
    groq: null,
    hunyuan: null,
    minimax: null,
    mistral: null,
    moonshot: null,
    nvidia: null,
    openai: null,
    openrouter: 'openrouter',
    qianfan: null,
    siliconflow: null,
    together: null,
    vertex: null,
    volcengine: null,
    xai: null,
    zhipu: 'zhipu',
  },
  responses: {
    bedrock: null,
    'bedrock-api-key': null,
    dashscope: 'plain',
    groq: null,
    openrouter: 'plain',
    volcengine: 'plain',
  },
  generate: { vertex: 'plain' },
}
/** Where only some models of a provider search, their names say it. */
const SEARCHES_BY_NAME = /-search-(?:preview|api)/

function searchAt(kind: KindName | null, via: Protocol, upstreamModel: string): SearchesAt {
  const said = kind === null ? undefined : SEARCH_AT[via]?.[kindLike(kind)]
  return said === undefined || (said === null && SEARCHES_BY_NAME.test(upstreamModel)) ? 'own' : said
}

/** Messages has a member of its own by which thinking is switched off. */
function effortsOf(efforts: readonly ModelEffort[], via: Protocol): Pick<TranslationTarget, 'efforts' | 'thinkingOff'> {
  const thinkingOff = via === 'messages' || via === 'converse' || efforts.length === 0 || efforts.includes('none')
  return { efforts: efforts.filter(effort => effort !== 'none'), thinkingOff }
}

export function targetOf(
  { kind, cacheMarks, finish }: Pick<Channel, 'kind' | 'cacheMarks' | 'finish'>,
  row: Model | undefined,
  upstreamModel: string,
  via: Protocol,
): TranslationTarget {
  return {
    ...plainTarget(upstreamModel),
    prefill: translatedUpstream(via).goesOn?.(upstreamModel) ? 'plain' : null,
    ...(kind !== null && via === 'chat' ? AT_KIND[kindLike(kind)] : {}),
    search: searchAt(kind, via, upstreamModel),
    thinking: row?.thinking ?? (via === 'messages' || via === 'converse' ? 'adaptive' : 'effort'),
    maxOutput: row?.maxOutput ?? null,
    ...effortsOf(row?.efforts ?? [], via),
    sampling: row?.sampling ?? 'all',
    systemTurns: row?.systemTurns ?? false,
    cacheMarks: cacheMarks === 'auto' ? 'auto' : 'asked',
    isLenient: finish === 'lenient',
  }
}
