/** Random secrets of people's side: sessions, links, devices and personal tokens. The store keeps their SHA-256 only. */
import { randomBytes } from 'node:crypto'

const BYTES = 32
export const TOKEN_PREFIX = 'gwp_'

/** 256 random bits, as text that may stand in a cookie and in an address. */
export const newToken = (): string => randomBytes(BYTES).toString('base64url')

/** Whether a text can be such a secret; anything else is not worth a question to the store. */
export const isToken = (text: unknown): text is string => typeof text === 'string' && /^[\w-]{43}$/.test(text)

export const newPersonalToken = (): string => TOKEN_PREFIX + newToken()

/** By which the owner recognises the token. */
export const personalHint = (token: string): string => `${TOKEN_PREFIX}…${token.slice(-4)}`
