/** Upstream credentials at rest: AES-256-GCM, under a key derived from the operator's secret, bound to the channel's name. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1:'

export class Sealer {
  readonly #key: Uint8Array

  constructor(secret: string) {
    this.#key = new Uint8Array(hkdfSync('sha256', secret, 'gateway store', 'channel keys', 32))
  }

  seal(plain: string, name: string): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(name))
    const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
    return VERSION + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64')
  }

  /** null when it was sealed under another secret or for another name, or is no sealed text. */
  open(sealed: string, name: string): string | null {
    if (!sealed.startsWith(VERSION)) return null
    const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64')
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      return null
    }
  }
}
