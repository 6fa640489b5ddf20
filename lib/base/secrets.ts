/**
 * Secrets that the gateway makes: client keys, and on people's side sessions, links, devices and personal tokens. The store keeps their
 * SHA-256 only. And which names of headers and query parameters say that a value is a secret.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto'

const BYTES = 32
export const TOKEN_PREFIX = 'gwp_'

/** 256 random bits, as text that may stand in a cookie and in an address. */
export const newToken = (): string => randomBytes(BYTES).toString('base64url')

/** Whether a text can be such a secret; anything else is not worth a question to the store. */
export const isToken = (text: unknown): text is string => typeof text === 'string' && /^[\w-]{43}$/.test(text)

export const newPersonalToken = (): string => TOKEN_PREFIX + newToken()

/** By which the owner recognises the token. */
export const personalHint = (token: string): string => `${TOKEN_PREFIX}…${token.slice(-4)}`

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 48 random characters out of 62 are 285 bits. */
const LENGTH = 48

/** A new random secret, from the operating system's secure generator. */
export const newSecret = (): string =>
  `sk-${Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')}`

export const hashOf = (secret: string): string => createHash('sha256').update(secret, 'utf8').digest('hex')
/** The last four characters, by which the owner recognises the key. */
export const hintOf = (secret: string): string => `sk-…${secret.slice(-4)}`

/** Words at the end of a name, whatever stands before them: names have separators (`x-api-key`) or none (`accesskey`). */
const ANYWHERE = /(key|token|secret|password|passwd|signature|authorization|credentials?|cookie)$/i
/** Words that other words end with too, as `config` nearly does with `sig`. */
const BY_THEMSELVES = /(^|[^a-z])(sig|auth|oauth|jwt|pass|pwd)$/i

export const isCredentialName = (name: string): boolean => ANYWHERE.test(name) || BY_THEMSELVES.test(name)

/** The headers of a channel that are constants (`=text`) and carry a credential. */
export const secretHeaders = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) => value.startsWith('=') && isCredentialName(name)))
