/** What a request's head says: its headers under any of their names, its credential, its sender, the form of answer it wants. */
import type { IncomingHttpHeaders } from 'node:http'
import { clientAddress } from '../access/ip.ts'
import type { Placement } from '../protocols/protocol.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Attempt } from '../upstream/attempt.ts'
import type { Exchange } from './exchange.ts'
import { passedQuery, queryKey } from './query.ts'
import { quotesSecret } from './redact.ts'

/** The header under its own name or one of its aliases. */
export function headerOf({ req, world }: Exchange, name: string): string | undefined {
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

/** The credential in the first of the places that has one, or null. An empty one counts as sent. */
export function credentialOf(x: Exchange, places: readonly Placement[]): string | null {
  for (const place of places) {
    const found = credentialAt(x, place)
    if (found !== null) return found
  }
  return null
}

function credentialAt(x: Exchange, place: Placement): string | null {
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

/** The answer will be a JSON array whose elements come one by one, as far as the request can tell. */
export function wantsArray(x: Exchange): boolean {
  const { target, form } = x
  if (x.free || target === null || form === null) return false
  return protocolRow(form).arrayByPath?.(target.verb, passedQuery(x.query, form)) ?? false
}
