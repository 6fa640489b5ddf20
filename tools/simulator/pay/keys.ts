/** The RSA keys of the stand-ins, of providers, merchants and strangers. */
import { generateKeyPairSync } from 'node:crypto'

interface KeyPair {
  publicKey: string
  privateKey: string
}

export const keyPair = (modulusLength = 2048): KeyPair =>
  generateKeyPairSync('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })

const kept = new Map<string, KeyPair>()

/** The same for the whole run. It is made when it is first asked for, because that takes long, and most runs use a few of all keys. */
export function keyPairOf(owner: string): KeyPair {
  const pair = kept.get(owner) ?? keyPair()
  kept.set(owner, pair)
  return pair
}
