/**
 * How a gateway notices that a request comes back to it, by ways that no file shows: a balancer, another name, a gateway behind it
 * whose upstream is this one. Each gateway adds its name to a header of what it sends upstream, and refuses what has its name in
 * it already. Gateways of one store have one name, because a balancer may lead back to any of them; a chain of different ones
 * passes. Real providers are not sent the header: they lead nowhere, and need not know.
 */
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import path from 'node:path'

export const HOPS = 'x-gateway-hops'
/** A chain of more gateways than that is a loop of gateways that change their names. */
const MOST_HOPS = 8
const NAME = /^[0-9a-f]{16}$/

/** A name says nothing of the secret that it is made from, and nobody can guess it. */
export function instanceName({ store, secret }: { store: string; secret: string }): string {
  const file = /^sqlite:(.+)$/.exec(store)?.[1]
  // hosts and users of a server may be written differently on each machine; the database is the same
  const place = file === undefined ? new URL(store).pathname : `${hostname()}\n${path.resolve(file)}`
  return createHash('sha256').update(`hop\n${place}\n${secret}`).digest('hex').slice(0, 16)
}

/** What a client sent, without what is none of our names. */
const namesIn = (header: string | string[] | undefined): string[] =>
  header === undefined
    ? []
    : String(header)
        .split(',', 2 * MOST_HOPS)
        .map(name => name.trim())
        .filter(name => NAME.test(name))

export function isLoop(header: string | string[] | undefined, own: string): boolean {
  if (header === undefined) return false
  const names = namesIn(header)
  return names.includes(own) || names.length >= MOST_HOPS
}

/** Whether a gateway refuses a request as a loop. It says nothing of that gateway where the client sent names of its own. */
export const saysLoop = (status: number): boolean => status === 508

/** The header of a request that goes upstream. */
export const withHop = (header: string | string[] | undefined, own: string): string =>
  header === undefined ? own : [...namesIn(header), own].join(', ')
