/**
 * Signatures of WeChat Pay's version 3 protocol: of our requests, and of the answers and notifications that it sends. Both
 * are RSA with SHA-256 over a few lines of text. What a notification says is encrypted besides.
 */
import {
  constants,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomUUID,
  sign,
  verify,
} from 'node:crypto'
import { NotVerified } from '../method.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

const SCHEME = 'WECHATPAY2-SHA256-RSA2048'
const ALGORITHM = 'AEAD_AES_256_GCM'
/** WeChat Pay sends such signatures now and then, to find out who does not verify. They must be refused. */
const PROBE = 'WECHATPAY/SIGNTEST/'
/** How far its clock and ours may be apart. */
const MOST_SKEW_MS = 300_000
const NONCE_BYTES = 12
const TAG_BYTES = 16
const PADDING = constants.RSA_PKCS1_PADDING

/** Signs our requests with the merchant's key. */
export class RequestSigner {
  readonly #mchid: string
  readonly #serial: string
  readonly #key: KeyObject

  constructor({ mchid, serial, private_key }: { mchid: string; serial: string; private_key: string }) {
    this.#mchid = mchid
    this.#serial = serial
    this.#key = createPrivateKey(private_key)
  }

  /** The header `Authorization` of a request. `path`: with its query. */
  authorization(method: 'GET' | 'POST', path: string, body: string, nowMs: number): string {
    const at = Math.floor(nowMs / 1_000)
    const nonce = randomUUID().replaceAll('-', '')
    const text = `${method}\n${path}\n${at}\n${nonce}\n${body}\n`
    const signature = sign('sha256', Buffer.from(text), { key: this.#key, padding: PADDING }).toString('base64')
    const fields = { mchid: this.#mchid, nonce_str: nonce, timestamp: at, serial_no: this.#serial, signature }
    return `${SCHEME} ${Object.entries(fields)
      .map(([name, value]) => `${name}="${value}"`)
      .join(',')}`
  }
}

/**
 * WeChat Pay's keys by their ids. There are several while one takes another's place: for days, messages are signed by
 * either.
 */
export class KeyRing {
  readonly #keys: ReadonlyMap<string, KeyObject>
  /** The key that answers are asked to be signed by. */
  readonly first: string

  constructor(keys: readonly { id: string; key: string }[]) {
    this.#keys = new Map(keys.map(({ id, key }) => [id, createPublicKey(key)]))
    this.first = keys[0]?.id ?? ''
  }

  /** Verifies an answer or a notification over its raw bytes. Throws NotVerified. */
  check(headers: Headers, body: Buffer, nowMs: number): void {
    const [at, nonce, id, signature] = ['timestamp', 'nonce', 'serial', 'signature'].map(name => {
      const value = headers[`wechatpay-${name}`]
      return typeof value === 'string' ? value : ''
    }) as [string, string, string, string]
    if (signature.startsWith(PROBE)) throw new NotVerified('probe')
    if (signature === '' || !/^\d{1,12}$/.test(at)) throw new NotVerified('signature')
    if (Math.abs(nowMs - Number(at) * 1_000) >= MOST_SKEW_MS) throw new NotVerified('age')
    const key = this.#keys.get(id)
    if (key === undefined) throw new NotVerified('key')
    const text = Buffer.concat([Buffer.from(`${at}\n${nonce}\n`), body, Buffer.from('\n')])
    const bytes = Buffer.from(signature, 'base64')
    // Several texts decode to the same bytes; only one of them is what was sent.
    if (bytes.toString('base64') !== signature || !verify('sha256', text, { key, padding: PADDING }, bytes))
      throw new NotVerified('signature')
  }
}

/**
 * The plain text of a notification's `resource`. The tag at the end of the cipher text is verified before anything is
 * returned: without that, amounts could be changed unseen. Throws NotVerified.
 */
export function decrypted(resource: Readonly<Record<string, unknown>>, apiKey: string): Buffer {
  const { algorithm, ciphertext, nonce, associated_data: extra = '' } = resource
  if (algorithm !== ALGORITHM || typeof ciphertext !== 'string' || typeof nonce !== 'string')
    throw new NotVerified('form')
  const bytes = Buffer.from(ciphertext, 'base64')
  if (bytes.length <= TAG_BYTES || Buffer.byteLength(nonce) !== NONCE_BYTES) throw new NotVerified('form')
  const decipher = createDecipheriv('aes-256-gcm', apiKey, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES)).setAAD(Buffer.from(String(extra ?? '')))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch {
    throw new NotVerified('key')
  }
}
