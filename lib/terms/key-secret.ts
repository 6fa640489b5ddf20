/** The secrets of client keys: how a new one is made, and the hash and the hint of it that the store keeps. */
import { createHash, randomInt } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 48 random characters out of 62 are 285 bits. */
const LENGTH = 48

/** A new random secret, from the operating system's secure generator. */
export const newSecret = (): string =>
  `sk-${Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')}`

export const hashOf = (secret: string): string => createHash('sha256').update(secret, 'utf8').digest('hex')
/** The last four characters, by which the owner recognises the key. */
export const hintOf = (secret: string): string => `sk-…${secret.slice(-4)}`
