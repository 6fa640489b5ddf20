/**
 * Addresses to which accounts pay, out of an extended public key (BIP 32). The key is that of one account of a wallet, `m/44'/60'/n'`, whose
 * secret half never comes near the gateway; the address with the number i is that of its child `0/i`. The library is loaded at
 * the first use, because few gateways need it.
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

interface Curve {
  HDKey: typeof import('@scure/bip32').HDKey
  keccak: (bytes: Uint8Array) => Uint8Array
  uncompress: (point: Uint8Array) => Uint8Array
}

let curve: Curve | null = null

/** The hash and the curve are those that the library itself is made of. */
function loaded(): Curve {
  if (curve !== null) return curve
  const { HDKey } = load('@scure/bip32')
  const parts = createRequire(load.resolve('@scure/bip32'))
  const { Point } = parts('@noble/curves/secp256k1.js').secp256k1
  const { keccak_256: keccak } = parts('@noble/hashes/sha3.js')
  curve = { HDKey, keccak, uncompress: point => Point.fromBytes(point).toBytes(false) }
  return curve
}

/** From here on, children are hardened: only the secret half can make them. */
const HARDENED = 2 ** 31
/** `m/44'/60'/n'` */
const ACCOUNT_DEPTH = 3
const ADDRESS_BYTES = 20

/** Why a text cannot be the extended public key; null = it can. The answer never has a part of the text in it. */
export function xpubFault(text: string): string | null {
  const { HDKey } = loaded()
  let key: InstanceType<typeof HDKey>
  try {
    key = HDKey.fromExtendedKey(text)
  } catch {
    return 'an extended public key, beginning xpub'
  }
  if (key.privateKey !== null) {
    key.wipePrivateData()
    return 'an extended public key, beginning xpub; this one is private, and must be kept away from the gateway'
  }
  if (key.depth !== ACCOUNT_DEPTH || key.index < HARDENED)
    return "the extended public key of a hardened account, m/44'/60'/n', used for nothing else"
  return null
}

/** The address with a number, in lower case. */
export function addressAt(xpub: string, number: number): string {
  const { HDKey, keccak, uncompress } = loaded()
  if (!Number.isInteger(number) || number < 0 || number >= HARDENED) throw new RangeError(`no address ${number}`)
  const { publicKey } = HDKey.fromExtendedKey(xpub).deriveChild(0).deriveChild(number)
  const point = uncompress(publicKey as Uint8Array)
  return `0x${Buffer.from(keccak(point.subarray(1)).subarray(-ADDRESS_BYTES)).toString('hex')}`
}

/** An address as wallets show it: the case of its letters is a checksum (EIP-55). */
export function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const hash = Buffer.from(loaded().keccak(Buffer.from(digits, 'ascii'))).toString('hex')
  return `0x${[...digits].map((digit, i) => (Number.parseInt(hash[i] as string, 16) >= 8 ? digit.toUpperCase() : digit)).join('')}`
}

/** Names an extended key without telling it. */
export const walletOf = (xpub: string): string => createHash('sha256').update(xpub).digest('hex').slice(0, 16)
