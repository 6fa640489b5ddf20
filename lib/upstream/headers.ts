/** Which headers pass, in both directions. Both lists are short and closed: what they do not name stays behind. */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { CompiledChannel, CompiledKey } from '../channels/table.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Protocol } from '../terms/records.ts'
import { providerHeaders } from '../terms/upstream-kinds.ts'

const IDEMPOTENCY_KEY = 'idempotency-key'
const CONTENT_TYPE = 'content-type'
/** Client headers that go upstream beside the `wire` ones. */
const PASSED = [CONTENT_TYPE, 'accept', 'openai-beta', IDEMPOTENCY_KEY]
/** Of the `wire` headers, the one that carries a key. */
const CREDENTIAL = 'x-gamma-api-key'

/** One channel's and key's part of every request: what to copy under which name, and what to set. */
class HeaderPlan {
  /** `[client name, upstream name, …]` */
  readonly copied: string[] = []
  /** `[name, value, …]` */
  readonly set: string[] = ['accept-encoding', 'identity']
  /** Set when the client sends none. */
  readonly fallback: readonly [name: string, value: string] | null

  constructor(
    channel: CompiledChannel,
    key: CompiledKey,
    protocol: Protocol,
    wire: Readonly<Record<string, readonly string[]>>,
  ) {
    const renamed = new Map<string, string>()
    const taken = new Set(['accept-encoding'])
    const provider = providerHeaders(channel.kind, protocol)
    for (const [name, value] of Object.entries({ ...provider.renamed, ...channel.headers })) {
      if (value.startsWith('=')) {
        this.set.push(name.toLowerCase(), constant(value))
        taken.add(name.toLowerCase())
      } else renamed.set(name.toLowerCase(), value.toLowerCase())
    }
    const auth = channel.authHeader ?? provider.auth ?? protocolRow(protocol).authHeader
    this.set.push(auth, auth === 'authorization' ? `Bearer ${key.secret}` : key.secret)
    taken.add(auth)
    const ofWire = new Set(Object.entries(wire).flatMap(([name, aliases]) => [name, ...aliases]))
    const names = new Set([...PASSED, ...channel.passHeaders.map(n => n.toLowerCase()), ...renamed.keys()])
    for (const name of names) if (!ofWire.has(name)) this.#copy(name, renamed.get(name) ?? name, taken)
    for (const [name, aliases] of Object.entries(wire)) {
      if (name === CREDENTIAL) continue
      for (const used of [name, ...aliases]) this.#copy(used, renamed.get(used) ?? renamed.get(name) ?? used, taken)
    }
    this.fallback = provider.fallback === null || taken.has(provider.fallback[0]) ? null : provider.fallback
  }

  #copy(from: string, to: string, taken: ReadonlySet<string>): void {
    if (!taken.has(to) && !taken.has(from)) this.copied.push(from, to)
  }
}

/** `=text`, or `="text"` where the quotes only make YAML easier to read. */
const constant = (value: string): string => /^="(.*)"$/s.exec(value)?.[1] ?? value.slice(1)

const plans = new WeakMap<CompiledKey, Map<Protocol, HeaderPlan>>()

/** Upstreams take no more of it. */
const LONGEST_IDEMPOTENCY_KEY = 255

/** All accounts share the upstream's: what one of them calls a repetition must not be another's answer. */
function ofAccount(accountId: number, idempotencyKey: string): string {
  const key = `gw${accountId}-${idempotencyKey}`
  return key.length <= LONGEST_IDEMPOTENCY_KEY ? key : `gw${accountId}-${hash('sha256', idempotencyKey, 'hex')}`
}

const JSON_TYPE = /^[ \t]*(?:application|text)\/(?:[\w.-]+\+)?json[ \t]*(?:;|$)/i

/**
 * A body was read as JSON here, and under another type an upstream could read it as a form, or as what else can hide in
 * the strings of a document; clients that name another one mean no harm, as it is a default of theirs.
 */
function passed(name: string, value: string, accountId: number): string {
  if (name === CONTENT_TYPE) return JSON_TYPE.test(value) ? value : 'application/json'
  return name === IDEMPOTENCY_KEY ? ofAccount(accountId, value) : value
}

/** `[name, value, …]` for undici. Content-length is undici's own for a buffer, and `length` otherwise. */
export function requestHeaders(
  { candidate: { channel }, key }: { candidate: { channel: CompiledChannel }; key: CompiledKey },
  protocol: Protocol,
  wire: Readonly<Record<string, readonly string[]>>,
  client: IncomingHttpHeaders,
  accountId: number,
): string[] {
  let ofKey = plans.get(key)
  if (ofKey === undefined) plans.set(key, (ofKey = new Map()))
  let plan = ofKey.get(protocol)
  if (plan === undefined) ofKey.set(protocol, (plan = new HeaderPlan(channel, key, protocol, wire)))
  const headers = plan.set.slice()
  let copied = ''
  for (let i = 0; i < plan.copied.length; i += 2) {
    const value = client[plan.copied[i] as string]
    const name = plan.copied[i + 1] as string
    if (value === undefined || name === copied) continue // an alias of what was copied already
    headers.push(name, passed(plan.copied[i] as string, value as string, accountId))
    copied = name
  }
  if (plan.fallback !== null && !headers.includes(plan.fallback[0])) headers.push(...plan.fallback)
  return headers
}

const KEPT = new Set([
  'content-type',
  'content-encoding',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
])

/** Appends to `into` the upstream's headers that pass to the client. */
export function passResponseHeaders(upstream: IncomingHttpHeaders, into: string[]): void {
  for (const name in upstream) {
    if (!KEPT.has(name) && !name.includes('ratelimit')) continue
    const value = upstream[name]
    if (typeof value === 'string') into.push(name, value)
    else if (value !== undefined) for (const one of value) into.push(name, one)
  }
}
