/** The query of a request: what of it goes upstream, and the key that may stand in it. */
import { type Protocol, protocolRow } from '../protocols/table.ts'

const NONE: ReadonlySet<string> = new Set()

/** What of a client's query goes upstream, each name once, without `others`. With its `?`, or empty. */
export function passedQuery(query: string, protocol: Protocol | null, others = NONE): string {
  if (query === '' || protocol === null) return ''
  const allowed = protocolRow(protocol).client.query
  const kept = new Map<string, string>()
  for (const part of query.split('&')) {
    const name = queryName(part)
    const value = unescaped(part.slice(part.indexOf('=') + 1))
    if (!kept.has(name) && !others.has(name) && Object.hasOwn(allowed, name) && allowed[name]?.includes(value))
      kept.set(name, value)
  }
  return kept.size === 0 ? '' : `?${[...kept].map(([name, value]) => `${name}=${value}`).join('&')}`
}

/** The value of the `key` parameter, or null. A name that only resembles it does not count. */
export function queryKey(query: string): string | null {
  if (!/key|%/i.test(query)) return null
  const part = query.split('&').find(one => queryName(one) === 'key')
  return part === undefined ? null : unescaped(part.slice(part.indexOf('=') + 1 || part.length))
}

function queryName(part: string): string {
  const end = part.indexOf('=')
  return unescaped(end < 0 ? part : part.slice(0, end))
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
