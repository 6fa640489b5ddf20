/**
 * An upstream's opaque state on its way through a client that speaks another protocol. It goes in an envelope into that
 * protocol's own place for such state, comes back with the history, and is opened only for the upstream that it came from:
 * others refuse a state that is not theirs. Nothing is kept on our side.
 */
import type { Opaque } from './ask.ts'
import { digest } from './ids.ts'
import type { Literal } from './json/literal.ts'

/** How every envelope begins, so that it can be found in a body that goes upstream untranslated. */
export const ENVELOPE = 'gw1.'

/** Who understands a state: a model of a protocol. It is a hash, because clients need not know what an upstream calls its models. */
export const issuerOf = (protocol: string, upstreamModel: string): string =>
  digest(`${protocol}\0${upstreamModel}`, 'base64url').slice(0, 12)

const LETTERS = { signed: 's', hidden: 'h', call: 'c', text: 't' } as const
const MEANINGS: Readonly<Record<string, Opaque['of']>> = { s: 'signed', h: 'hidden', c: 'call', t: 'text' }
const PLAIN_ID = /^[A-Za-z0-9_-]{1,200}$/
const HEAD = /^"gw1\.([A-Za-z0-9_-]{12})\.([shct])\.([A-Za-z0-9_-]{0,200})\./

/** The envelope, as a literal. */
export function seal({ issuer, of, value, id = '' }: Opaque): Literal {
  return `"${ENVELOPE}${issuer}.${LETTERS[of]}.${PLAIN_ID.test(id) ? id : ''}.${value.slice(1)}`
}

/** What is in an envelope; null = it is none of ours. */
export function unseal(text: Literal): Opaque | null {
  const found = HEAD.exec(text)
  if (found === null) return null
  const [head, issuer, letter, id] = found as unknown as [string, string, string, string]
  const opaque: Opaque = { issuer, of: MEANINGS[letter] as Opaque['of'], value: `"${text.slice(head.length)}` }
  return id === '' ? opaque : { ...opaque, id }
}
