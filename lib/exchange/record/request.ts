/**
 * What a request says beside the facts of its body: its headers under any of their names, its credential, its query, its sender, the form
 * of answer that it wants, and how its client reaches the gateway. The memory that its body takes is counted here, too.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Buffered } from '../../access/open-requests.ts'
import type { KeyEntry } from '../../access/keys.ts'
import { clientAddress } from '../../access/ip.ts'
import type { Placement } from '../../protocols/protocol.ts'
import type { Protocol } from '../../protocols/names.ts'
import { protocolRow } from '../../protocols/table.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { Exchange } from './exchange.ts'
import { quotesSecret } from './redact.ts'

/** The header under its own name or one of its aliases. */
export function headerOf({ req, world }: Pick<Exchange, 'req' | 'world'>, name: string): string | undefined {
  const value = req.headers[name]
  if (value !== undefined) return value as string
  for (const alias of world.config.wire[name] ?? []) {
    const other = req.headers[alias]
    if (other !== undefined) return other as string
  }
  return undefined
}

/** Headers in which clients and providers name a request, each by an id of its own. */
const CLIENT_ID_HEADERS = ['x-client-request-id', 'x-request-id', 'request-id']
const UPSTREAM_ID_HEADERS = ['x-request-id', 'request-id', 'x-amzn-requestid']
const LONGEST_ID = 128
/** An id is one word of visible ASCII. */
const ID = /^[\x21-\x7e]+$/

/** The id that the client gave its request; null = none that can be kept. */
export const clientIdOf = ({ req }: Exchange): string | null => idIn(req.headers, CLIENT_ID_HEADERS)

/** The id that an upstream gave its answer; null = none that can be kept. */
export function upstreamIdOf({ claim, headers }: Attempt): string | null {
  const id = idIn(headers, UPSTREAM_ID_HEADERS)
  return id === null || quotesSecret(id, claim.candidate.channel) ? null : id
}

function idIn(headers: IncomingHttpHeaders, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headers[name]
    if (typeof value === 'string' && value.length <= LONGEST_ID && ID.test(value)) return value
  }
  return null
}

type Asked = Pick<Exchange, 'query' | 'req' | 'world'>

/** The credential in the first of the places that has one, or null. An empty one counts as sent. */
export function credentialOf(x: Asked, places: readonly Placement[]): string | null {
  for (const place of places) {
    const found = credentialAt(x, place)
    if (found !== null) return found
  }
  return null
}

function credentialAt(x: Asked, place: Placement): string | null {
  if (place === 'x-api-key') return (x.req.headers['x-api-key'] as string | undefined) ?? null
  if (place === 'gamma') return headerOf(x, 'x-gamma-api-key') ?? null
  if (place === 'query') return queryKey(x.query)
  const value = x.req.headers.authorization
  if (value === undefined || value.length < 7 || value.slice(0, 7).toLowerCase() !== 'bearer ') return null
  return value.slice(7)
}

/** The client's address, behind the proxies that are trusted. It is found once for each world. */
export function addressOf(x: Exchange): string {
  const { world } = x
  if (x.addressIn !== world) {
    const forwardedFor = x.req.headers['x-forwarded-for'] as string | undefined
    x.address = clientAddress(x.remote, forwardedFor, world.trusted)
    x.addressIn = world
  }
  return x.address
}

/** The answer will be an event stream, as far as the request can tell. */
export function wantsEvents(x: Exchange): boolean {
  const { target, form } = x
  if (x.free || target === null || form === null) return false
  const { streamsByPath } = protocolRow(form)
  if (streamsByPath === null) return x.facts?.stream === true
  return streamsByPath(target.verb, passedQuery(x.query, form))
}

/** A stream is to tell what it cost. */
export const asksCost = ({ facts, req }: Exchange): boolean =>
  facts?.asksCost === true || req.headers['x-gateway-cost'] === 'stream'

/** The answer will be a JSON array whose elements come one by one, as far as the request can tell. */
export function wantsArray(x: Exchange): boolean {
  const { target, form } = x
  if (x.free || target === null || form === null) return false
  return protocolRow(form).arrayByPath?.(target.verb, passedQuery(x.query, form)) ?? false
}

// --- the query

const NONE: ReadonlySet<string> = new Set()

/** What of a client's query goes upstream, each name once, without `others`. With its `?`, or empty. */
export function passedQuery(query: string, protocol: Protocol | null, others = NONE): string {
  if (query === '' || protocol === null) return ''
  const allowed = protocolRow(protocol).client.query
  const kept = new Map<string, string>()
  for (const [name, value] of parametersOf(query))
    if (!kept.has(name) && !others.has(name) && Object.hasOwn(allowed, name) && allowed[name]?.includes(value))
      kept.set(name, value)
  return kept.size === 0 ? '' : `?${[...kept].map(([name, value]) => `${name}=${value}`).join('&')}`
}

/** The value of the `key` parameter, or null. A name that only resembles it does not count. */
export function queryKey(query: string): string | null {
  if (!/key|%/i.test(query)) return null
  return parametersOf(query).get('key')
}

/**
 * What is no escape stays as it is, and throws nothing: an error for each of thirty thousand parameters would hold up everybody. A `?` at
 * the beginning belongs to the first name.
 */
const parametersOf = (query: string): URLSearchParams => new URLSearchParams(`&${query}`)

// --- how the client reaches the gateway

/** Where kept pictures are served; their names follow. */
export const FILES = '/files/'

/** A name or an address, perhaps with a port. The client has sent it, and it stands in an answer to this very client. */
const HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/** The URL of a kept picture, as the client of the exchange reaches it. It is served on the main address only. */
export const linkTo = (x: Exchange, name: string): string => `${originOf(x)}${FILES}${name}`

/** Where nobody has said how the gateway is reached, it is where this client has reached it, if that was the main address. */
function originOf({ listener, req, world }: Exchange): string {
  const { main, given } = world.config.public
  const { host = '' } = req.headers
  return !given && listener === 'main' && HOST.test(host) ? `http://${host}` : main
}

// --- the memory of bodies

/**
 * Takes memory for `bytes` more of the body, before they are kept. All bodies of a process together may take `limit` bytes, and those
 * of one account a share of that. False = there is no room for them.
 */
export function takeMemory(x: Exchange, buffered: Buffered, bytes: number, limit: number): boolean {
  const { id } = (x.entry as KeyEntry).account
  if (!buffered.take(id, x.bufferedBytes, bytes, limit)) return false
  x.bufferedBytes += bytes
  return true
}

/** Gives a part of it back, unless all of it was given back meanwhile. */
export function giveMemory(x: Exchange, buffered: Buffered, bytes: number): void {
  const given = Math.min(bytes, x.bufferedBytes)
  if (given === 0) return
  buffered.give((x.entry as KeyEntry).account.id, given)
  x.bufferedBytes -= given
}

/** Shorter bodies are left to the collector, which finds them soon. */
const FREED_BYTES = 1024 * 1024

/**
 * Drops the body and gives its memory back. It is called when no attempt needs the body any more. `isTaken`: it was written by one attempt
 * alone, and the kernel has all of it.
 */
export function dropBody(x: Exchange, buffered: Buffered, isTaken = false): void {
  if (x.bufferedBytes === 0) return
  buffered.give((x.entry as KeyEntry).account.id, x.bufferedBytes)
  x.bufferedBytes = 0
  if (isTaken && x.bodyBytes >= FREED_BYTES && x.translations === null && x.otherForms === null) x.body.forEach(free)
  x.body = []
  x.translations?.drop()
  x.otherForms = null
}

/**
 * Gives the memory of a part that has it alone back at once. The engine would find it in a collection of everything, which is made after each
 * 64 MiB, and takes as long as all that is done for such a body.
 */
function free({ buffer, length }: Buffer): void {
  if (length === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
