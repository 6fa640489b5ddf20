/**
 * An upstream's opaque state on its way through a client that speaks another protocol. It goes in an envelope into that
 * protocol's own place for such state, comes back with the history, and is opened only for the upstream that it came from:
 * others refuse a state that is not theirs. Nothing is kept on our side.
 */
import type { Opaque } from './ask.ts'
import { digest } from './ids.ts'
import { type Literal, literal } from './json/literal.ts'
import { stringEnd } from './json/scan.ts'

/** How every envelope begins, so that it can be found in a body that goes upstream untranslated. */
export const ENVELOPE = 'gw1.'
/** The same where clients take the place for base64 and decode it: the letters that these bytes, and no issuer, decide. */
export const ENVELOPE_64 = 'Z3cxL'

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

/** The envelope in base64, for a protocol whose clients decode it. */
export const seal64 = (opaque: Opaque): Literal =>
  literal(Buffer.from(seal(opaque).slice(1, -1), 'latin1').toString('base64'))

/** What is in such an envelope, in either alphabet of base64; null = it is none of ours. */
export function unseal64(text: Literal): Opaque | null {
  if (!text.startsWith(`"${ENVELOPE_64}`)) return null
  const inner = `"${Buffer.from(text.slice(1, -1), 'base64').toString('latin1')}"`
  return stringEnd(inner, 1) === inner.length ? unseal(inner) : null
}
