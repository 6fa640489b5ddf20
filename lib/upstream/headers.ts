/**
 * Makes the headers of a request to an upstream, and passes the upstream's headers on to the client. Both directions have a
 * short allow-list: a header that no list or setting names is dropped.
 *
 * A request upstream gets its headers from four places: the client's headers that `PASSED` lists; those of `wire`, a setting of
 * the config that says which headers of the protocols clients may send under other names too; what the channel's settings
 * `headers` and `pass_headers` add, rename or set; and what the gateway sets itself (the key, `accept-encoding`, and what a
 * kind of provider needs). `HeaderPlan` works this out once for each key of a channel and protocol.
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { CompiledChannel, CompiledKey } from '../world/compiled-channel.ts'
import type { AtKind } from '../protocols/protocol.ts'
import type { Protocol } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import { providerHeaders } from '../catalog-file/upstreams.ts'

const IDEMPOTENCY_KEY = 'idempotency-key'
const CONTENT_TYPE = 'content-type'
const JSON_TYPE = 'application/json'
const ACCEPT = 'accept'
/** Client headers that go upstream with a translated request, beside those that the channel passes. */
const TRANSLATED = [IDEMPOTENCY_KEY]
/** Client headers that go upstream, beside those of the setting `wire` and of the channel's settings. */
const PASSED = [CONTENT_TYPE, ACCEPT, 'openai-beta', IDEMPOTENCY_KEY]
/** The header among those of `wire` that carries the client's key, and so never goes upstream. */
const CREDENTIAL = 'x-gamma-api-key'

/** The headers of all requests with one key on one protocol: which to copy under which name, and which to set. */
class HeaderPlan {
  /** The client headers to copy, as `[name at the client, name at the upstream, …]`. */
  readonly copied: string[] = []
  /** The headers that the gateway sets itself, as `[name, value, …]`. */
  readonly set: string[] = ['accept-encoding', 'identity']
  /** A header that is set when the client does not send it; null = none. */
  readonly fallback: readonly [name: string, value: string] | null
  /** The values of a client header that go upstream; null = all values of every header do. */
  readonly #values: NonNullable<AtKind['values']> | null
  /** Makes the content type that goes upstream from the client's; the form of the body decides. */
  readonly #typeUpstream: (contentType: string) => string

  constructor(
    channel: CompiledChannel,
    key: CompiledKey,
    protocol: Protocol,
    wire: Readonly<Record<string, readonly string[]>>,
    isTranslated: boolean,
  ) {
    const renamed = new Map<string, string>()
    const taken = new Set(['accept-encoding'])
    /** Headers that the channel sets: a client can say them under none of their names. */
    const fixed = new Set<string>()
    const row = protocolRow(protocol)
    this.#typeUpstream = row.body.typeUpstream
    const provider = providerHeaders(channel.kind, protocol)
    const { accept, values } = channel.special[protocol] ?? {}
    this.#values = values ?? null
    if (accept !== undefined) {
      this.set.push(ACCEPT, accept)
      taken.add(ACCEPT)
    }
    for (const [name, value] of Object.entries({ ...provider.renamed, ...channel.headers })) {
      if (value.startsWith('=')) {
        const upstream = provider.renamed[name.toLowerCase()] ?? name.toLowerCase()
        this.set.push(upstream, constant(value))
        taken.add(upstream)
        fixed.add(upstream).add(name.toLowerCase())
      } else renamed.set(name.toLowerCase(), value.toLowerCase())
    }
    const auth = channel.authHeader ?? provider.authHeader ?? row.upstream.authHeader
    // a request that is signed gets its credential when everything else of it is known (`signers.ts`)
    if (key.credential === null) this.set.push(auth, auth === 'authorization' ? `Bearer ${key.secret}` : key.secret)
    taken.add(auth)
    const ofWire: ReadonlySet<string> = new Set(Object.entries(wire).flatMap(([name, aliases]) => [name, ...aliases]))
    if (isTranslated) this.set.push(CONTENT_TYPE, JSON_TYPE)
    const fallback = isTranslated ? row.upstream.atProvider.fallback : provider.fallback
    this.fallback = fallback === null || taken.has(fallback[0]) ? null : fallback
    if (isTranslated && fallback !== null) taken.add(fallback[0])
    const always = isTranslated ? TRANSLATED : [...PASSED, ...renamed.keys()]
    const names = new Set([...always, ...channel.passHeaders.map(n => n.toLowerCase())])
    for (const name of names) if (!ofWire.has(name)) this.#copy(name, renamed.get(name) ?? name, taken)
    if (isTranslated) return
    for (const [name, aliases] of Object.entries(wire)) {
      const names = [name, ...aliases]
      if (name === CREDENTIAL || names.some(one => fixed.has(one))) continue
      for (const used of names) this.#copy(used, renamed.get(used) ?? renamed.get(name) ?? used, taken)
    }
  }

  /** The value of a client header as it goes upstream; null = it does not. */
  passed(from: string, to: string, value: string, accountId: number): string | null {
    if (this.#values !== null && to === this.#values.header) return knownOf(value, this.#values.known)
    if (from === CONTENT_TYPE) return this.#typeUpstream(value)
    return from === IDEMPOTENCY_KEY ? ofAccount(accountId, value) : value
  }

  #copy(from: string, to: string, taken: ReadonlySet<string>): void {
    if (!taken.has(to) && !taken.has(from)) this.copied.push(from, to)
  }
}

function knownOf(value: string, known: ReadonlySet<string>): string | null {
  const passed = value.split(',').filter(one => known.has(one.trim()))
  return passed.length === 0 ? null : passed.join(',')
}

/** The text of a constant `=text`. In `="text"` the quotes only make YAML easier to read, and are dropped. */
const constant = (value: string): string => /^="(.*)"$/s.exec(value)?.[1] ?? value.slice(1)

type Plans = WeakMap<CompiledKey, Map<Protocol, HeaderPlan>>
const plans: Plans = new WeakMap()
const plansTranslated: Plans = new WeakMap()

/** Upstreams refuse an idempotency key that is longer. */
const LONGEST_IDEMPOTENCY_KEY = 255

/**
 * An idempotency key with the account's id in it. All accounts share our account at the upstream, so two accounts that
 * send the same idempotency key would otherwise get each other's answer.
 */
function ofAccount(accountId: number, idempotencyKey: string): string {
  const key = `gw${accountId}-${idempotencyKey}`
  return key.length <= LONGEST_IDEMPOTENCY_KEY ? key : `gw${accountId}-${hash('sha256', idempotencyKey, 'hex')}`
}

/**
 * The headers of a request to an upstream, as `[name, value, …]`. The dispatcher adds `host`, and `content-length` when
 * the body is a single buffer; for other bodies the caller adds it.
 */
export function requestHeaders(
  { candidate: { channel }, key }: { candidate: { channel: CompiledChannel }; key: CompiledKey },
  protocol: Protocol,
  wire: Readonly<Record<string, readonly string[]>>,
  client: IncomingHttpHeaders,
  accountId: number,
): string[] {
  return headersBy(plans, channel, key, protocol, wire, client, accountId)
}

/**
 * The same for a request that the gateway has written: nothing of what the client's headers say about its own protocol goes with
 * it. `protocol`: the upstream's.
 */
export const translatedHeaders = (
  { candidate: { channel }, key }: { candidate: { channel: CompiledChannel }; key: CompiledKey },
  protocol: Protocol,
  client: IncomingHttpHeaders,
  accountId: number,
): string[] => headersBy(plansTranslated, channel, key, protocol, null, client, accountId)

/** `wire` null: the request is translated. */
function headersBy(
  of: Plans,
  channel: CompiledChannel,
  key: CompiledKey,
  protocol: Protocol,
  wire: Readonly<Record<string, readonly string[]>> | null,
  client: IncomingHttpHeaders,
  accountId: number,
): string[] {
  let ofKey = of.get(key)
  if (ofKey === undefined) of.set(key, (ofKey = new Map()))
  let plan = ofKey.get(protocol)
  if (plan === undefined)
    ofKey.set(protocol, (plan = new HeaderPlan(channel, key, protocol, wire ?? {}, wire === null)))
  const headers = plan.set.slice()
  let copied = ''
  for (let i = 0; i < plan.copied.length; i += 2) {
    const value = client[plan.copied[i] as string]
    const name = plan.copied[i + 1] as string
    if (value === undefined || name === copied) continue // an alias of what was copied already
    copied = name
    const passed = plan.passed(plan.copied[i] as string, name, value as string, accountId)
    if (passed !== null) headers.push(name, passed)
  }
  if (plan.fallback !== null && !headers.includes(plan.fallback[0])) headers.push(...plan.fallback)
  return headers
}

/**
 * Headers of the upstream that pass to the client. Those about its limits do not: they describe an account that all customers
 * share.
 */
const KEPT = new Set([
  'content-type',
  'content-encoding',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
])

/** The passed headers about the body, which the gateway has written itself where the answer was translated. */
const OF_BODY = new Set(['content-type', 'content-encoding'])
const NONE: ReadonlySet<string> = new Set()

/** The longest time after which a client is told to come back: SDKs do not listen to more, or sleep for all of it. */
const LONGEST_WAIT_S = 60

/** Appends to `into` the upstream's headers that pass to the client, without some. `nowMs`: since 1970. */
export function passResponseHeaders(
  upstream: IncomingHttpHeaders,
  nowMs: number,
  into: string[],
  without: ReadonlySet<string> = NONE,
): void {
  for (const name in upstream) {
    if (!KEPT.has(name) || without.has(name)) continue
    const value = upstream[name]
    if (typeof value === 'string') into.push(name, bounded(name, value, nowMs))
    else if (value !== undefined) for (const one of value) into.push(name, one)
  }
}

/** Appends those of the upstream's headers that pass to the client and say nothing of the body, which is one of ours. `nowMs`: since 1970. */
export const passRetryHeaders = (upstream: IncomingHttpHeaders, nowMs: number, into: string[]): void =>
  passResponseHeaders(upstream, nowMs, into, OF_BODY)

function bounded(name: string, value: string, nowMs: number): string {
  if (name === 'retry-after') return (secondsOf(value, nowMs) ?? 0) > LONGEST_WAIT_S ? String(LONGEST_WAIT_S) : value
  if (name === 'retry-after-ms') return Number(value) > LONGEST_WAIT_S * 1000 ? String(LONGEST_WAIT_S * 1000) : value
  return value
}

/** The `retry-after` of an upstream, which may name seconds or a date, or be in ms. undefined: there is none. */
export function namedRetryS(upstream: IncomingHttpHeaders, nowMs: number): number | undefined {
  const named = upstream['retry-after']
  if (named !== undefined) return secondsOf(named, nowMs)
  const ms = Number(upstream['retry-after-ms'] ?? Number.NaN)
  return Number.isFinite(ms) ? Math.max(0, ms / 1000) : undefined
}

function secondsOf(named: string, nowMs: number): number | undefined {
  const seconds = /^\s*\d/.test(named) ? Number(named) : (Date.parse(named) - nowMs) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}
