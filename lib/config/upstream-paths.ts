/** At which path and with which query a channel's upstream is asked, put together from its address, its kind and its own settings. */
import { PROTOCOLS, type Protocol, protocolRow } from '../protocols/table.ts'
import type { Channel } from '../terms/channel.ts'
import { kindOf } from '../terms/upstream-kinds.ts'

type Asked = Pick<Channel, 'baseUrl' | 'kind' | 'paths' | 'query'>

/** Protocols of a channel that its kind does not speak and for which it names no path. */
export function unspoken({ kind: name, paths, protocols }: Asked & Pick<Channel, 'protocols'>): Protocol[] {
  const known = { ...kindOf(name)?.paths, ...paths }
  return name === null ? [] : protocols.filter(protocol => known[protocol] === undefined)
}

/** The path of a protocol at a channel's upstream, from its host, with `{model}` and `{verb}` where they belong. */
export function pathAt({ baseUrl, kind: name, paths }: Asked, protocol: Protocol): string {
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const own = paths[protocol]
  if (own !== undefined) return withoutRepeat(base, own) + own
  const known = kindOf(name)?.paths
  const ofKind = known?.[protocol]
  if (known !== undefined && ofKind !== undefined) return rootOf(base, Object.values(known)) + ofKind
  return joined(base, protocolRow(protocol).upstream.path)
}

/** The path at which tokens are counted, where the channel's kind has one of its own. undefined = the protocol's with its suffix. */
export function countPathAt({ baseUrl, kind: name, paths }: Asked, protocol: Protocol): string | undefined {
  const kind = kindOf(name)
  const count = kind?.special[protocol]?.count
  if (kind === null || count == null || paths[protocol] !== undefined) return undefined
  return rootOf(new URL(baseUrl).pathname.replace(/\/+$/, ''), Object.values(kind.paths)) + count.path
}

export const queryAt = ({ kind: name, query }: Asked): Record<string, string> => ({ ...kindOf(name)?.query, ...query })

const LAST_VERSION = /\/(v\d+(?:alpha|beta)?)$/
const FIRST_VERSION = /^\/(v\d+(?:alpha|beta)?)(?=\/)/

const withoutRepeat = (base: string, path: string): string => {
  const version = LAST_VERSION.exec(base)?.[1]
  return version !== undefined && FIRST_VERSION.exec(path)?.[1] === version ? base.replace(LAST_VERSION, '') : base
}

/**
 * A base that ends in a version replaces the protocol's own (`/api/paas/v4`, `/api/v3`), because that is the address which
 * clients are given. Only `/v1` beside `/v1beta` is a matter of the protocol: upstreams that speak several have both.
 */
function joined(base: string, path: string): string {
  const ofBase = LAST_VERSION.exec(base)?.[1]
  const ofPath = FIRST_VERSION.exec(path)?.[1] as string
  if (ofBase === undefined) return base + path
  if (/^v1(alpha|beta)?$/.test(ofBase) && (ofBase === 'v1') !== (ofPath === 'v1'))
    return base.replace(LAST_VERSION, '') + path
  return base + path.replace(FIRST_VERSION, '')
}

/** Of a base that was given as far as into one of the kind's paths, what stands before them. */
function rootOf(base: string, paths: readonly string[]): string {
  const steps = base.split('/').slice(1)
  for (let from = 0; from < steps.length; from++) {
    const tail = `/${steps.slice(from).join('/')}/`
    if (paths.some(path => path.startsWith(tail))) return base.slice(0, base.length - tail.length + 1)
  }
  return base.replace(LAST_VERSION, '')
}

/** The protocol whose path ends the address, which would then stand in it twice; null = none. */
export function protocolEnding(baseUrl: string): Protocol | null {
  const path = new URL(baseUrl).pathname
  return PROTOCOLS.find(protocol => protocolRow(protocol).upstream.ending.test(path)) ?? null
}
