/** Secrets of keys: what a client sends, and what of it is kept. */
import { createHash, randomInt } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 48 of 62 characters: 285 bits. */
const LENGTH = 48

/** Every character equally likely. */
export const newSecret = (): string =>
  `sk-${Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')}`

export const hashOf = (secret: string): string => createHash('sha256').update(secret, 'utf8').digest('hex')
export const hintOf = (secret: string): string => `sk-…${secret.slice(-4)}`
