/** A channel of the catalogue and its keys in the form that requests need, with all that follows from the catalogue's row. */
import { hash as digest } from 'node:crypto'
import { FORMS, type Protocol } from '../protocols/names.ts'
import type { Channel, ChannelKey } from '../terms/records.ts'
import { type OutputBounds, outputBounds } from '../protocols/words/maxima.ts'
import {
  type UpstreamCredential,
  upstreamCredential,
  secretsIn,
  type AnswersOf,
  type KindName,
  answersOf,
  providerOf,
  type BalanceCall,
  balanceCallAt,
  countPathAt,
  pathAt,
  speaksForm,
  queryAt,
  type OtherForm,
  type Provider,
} from '../catalog-file/upstreams.ts'

/** The number of hexadecimal digits of a fingerprint: 64 bits, enough for all keys of a store to differ. */
const FINGERPRINT_LENGTH = 16

export class CompiledKey {
  readonly secret: string
  /** The credential that requests are signed with; null = the key is plain, and is sent itself. */
  readonly credential: UpstreamCredential | null
  /** The parts of it that nobody may see. */
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
    this.credential = upstreamCredential(kind, row.key)
    this.secrets = this.credential === null ? [row.key] : secretsIn(this.credential)
    this.maxConcurrency = row.maxConcurrency
    this.index = index
    this.hash = hashText(row.key)
    this.fingerprint = digest('sha256', row.key, 'hex').slice(0, FINGERPRINT_LENGTH)
  }
}

const NOTHING_SPECIAL: Provider['special'] = {}

/** A channel in the form that requests need. There is one object per channel and world. */
export class CompiledChannel {
  readonly name: string
  readonly connection: UpstreamConnection
  /** The path of the upstream's address, without a slash at its end. */
  readonly basePath: string
  readonly kind: KindName | null
  /** The whole path of each protocol, with the placeholders `{model}` and `{verb}`. */
  readonly paths: Readonly<Record<Protocol, string>>
  /** The paths at which tokens are counted, as far as the kind has a path of its own for that. */
  readonly countPaths: Readonly<Partial<Record<Protocol, string>>>
  /** The differences at the kind beside the path. */
  readonly special: Provider['special']
  /** The bounds of its answers, by the protocol in which it is asked. */
  readonly bounds: Readonly<Record<Protocol, OutputBounds>>
  /** The forms of its answers, where they are not those of the protocol in which it is asked. */
  readonly answers: Readonly<Partial<Record<Protocol, AnswersOf>>>
  /** True when its answers do not tell of searches. */
  readonly hidesSearches: boolean
  /** The call that tells how much money is left there; null = its kind has none. */
  readonly balance: BalanceCall | null
  readonly protocols: readonly Protocol[]
  /** Added to the query of every request, encoded as in a URL; empty = nothing. */
  readonly query: string
  /** Names of the parameters in `query`, which replace the client's of the same name. */
  readonly queryNames: ReadonlySet<string>
  readonly keys: readonly CompiledKey[]
  /** Most attempts open at once; 0 = unlimited. */
  readonly maxConcurrency: number
  readonly authHeader: string | null
  /** The forms in which its upstream can be asked, as far as its kind says. */
  readonly forms: ReadonlySet<Protocol>
  /** The protocols for which it names a path of its own. */
  readonly #ownPaths: Channel['paths']
  readonly headers: Readonly<Record<string, string>>
  readonly passHeaders: readonly string[]
  readonly enabled: boolean
  readonly weight: number
  readonly priority: number
  /** Hash for affinity, the same in every process and world. */
  readonly hash: number
  /** Position in `RouteTable.channels`. */
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
    this.forms = new Set(FORMS.filter(form => speaksForm(channel, form)))
    this.special = providerOf(channel.kind)?.special ?? NOTHING_SPECIAL
    this.bounds = Object.fromEntries(FORMS.map(form => [form, outputBounds(channel.kind, form, channel)])) as never
    this.answers = answersOf(channel.kind)
    this.hidesSearches = (channel.searches ?? providerOf(channel.kind)?.searches) === 'unreported'
    this.balance = balanceCallAt(channel)
    this.protocols = channel.protocols
    const query = queryAt(channel)
    this.query = new URLSearchParams(query).toString()
    this.queryNames = new Set(Object.keys(query))
    this.keys = channel.keys.map((row, i) => new CompiledKey(row, i, channel.kind))
    this.maxConcurrency = channel.maxConcurrency
    this.authHeader = channel.authHeader?.toLowerCase() ?? null
    this.#ownPaths = channel.paths
    this.headers = channel.headers
    this.passHeaders = channel.passHeaders
    this.enabled = channel.status === 'enabled' && channel.sealed !== true
    this.weight = channel.weight
    this.priority = channel.priority
    this.hash = hashText(channel.name)
    this.index = index
    this.modelsOf = Map.groupBy(Object.keys(channel.models), model => channel.models[model] as string)
  }

  /** The form in which its kind is asked for a model; null = the protocol's own, as is what stands at a path that the channel names. */
  otherForm(protocol: Protocol, upstreamModel: string): OtherForm | null {
    return this.#ownPaths[protocol] === undefined ? (this.special[protocol]?.otherForm?.(upstreamModel) ?? null) : null
  }
}

/** The 32-bit FNV-1a hash of a text: of channels and keys, and of conversations, each of which prefers some of them. */
export function hashText(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}

// --- how its upstream is reached

/** The way in which an upstream is reached. Channels with equal connections share a connection pool. */
export interface UpstreamConnection {
  /** A text made of all the fields below. */
  readonly id: string
  /** `https://host:port` */
  readonly origin: string
  readonly proxy: string | null
  readonly ca: string | null
  readonly http2: boolean
  /** The upstream may be at a reserved address. */
  readonly reserved: boolean
}

/** The way to an origin with everything else as in `as`. */
export function connectionTo(
  origin: string,
  { proxy, ca, http2, reserved }: Omit<UpstreamConnection, 'id' | 'origin'>,
): UpstreamConnection {
  return { id: JSON.stringify([origin, proxy, ca, http2, reserved]), origin, proxy, ca, http2, reserved }
}
