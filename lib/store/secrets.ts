/**
 * Upstream credentials at rest: AES-256-GCM, under a key derived from the operator's secret, bound to the channel's name.
 * While the secret is rotated, what stands under the previous one is read too; everything new stands under the present one.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1:'
/** Characters of a signature that say under which secret it was made, and of the signature itself. */
const [ID_LENGTH, SIGNATURE_LENGTH] = [12, 48]

interface Opened {
  plain: string
  /** It stands under the present secret. */
  current: boolean
}

class Secret {
  readonly #sealing: Uint8Array
  readonly #signing: Uint8Array
  /** Tells secrets apart without saying anything of them. */
  readonly id: string

  constructor(secret: string) {
    this.#sealing = new Uint8Array(hkdfSync('sha256', secret, 'gateway store', 'channel keys', 32))
    this.#signing = new Uint8Array(hkdfSync('sha256', secret, 'gateway store', 'digests', 32))
    this.id = this.#digest('id').slice(0, ID_LENGTH)
  }

  #digest(text: string): string {
    return createHmac('sha256', this.#signing).update(text).digest('hex')
  }

  sign(text: string): string {
    return `${this.id}:${this.#digest(`text ${text}`).slice(0, SIGNATURE_LENGTH)}`
  }

  seal(plain: string, name: string): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, iv).setAAD(Buffer.from(name))
    const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
    return VERSION + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64')
  }

  open(sealed: string, name: string): string | null {
    if (!sealed.startsWith(VERSION)) return null
    const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64')
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#sealing, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      return null
    }
  }
}

export class Sealer {
  readonly #current: Secret
  readonly #previous: Secret | null

  constructor(secret: string, previous: string | null = null) {
    this.#current = new Secret(secret)
    this.#previous = previous === null ? null : new Secret(previous)
  }

  seal(plain: string, name: string): string {
    return this.#current.seal(plain, name)
  }

  /** null when it was sealed under another secret or for another name, or is no sealed text. */
  open(sealed: string, name: string): Opened | null {
    const plain = this.#current.open(sealed, name)
    if (plain !== null) return { plain, current: true }
    const before = this.#previous?.open(sealed, name) ?? null
    return before === null ? null : { plain: before, current: false }
  }

  sign(text: string): string {
    return this.#current.sign(text)
  }

  /** Whether that is the signature of `text`; null when it was made under a secret that is not known here. */
  signed(text: string, signature: string): boolean | null {
    const secret = [this.#current, this.#previous].find(one => one !== null && signature.startsWith(`${one.id}:`))
    return secret ? secret.sign(text) === signature : null
  }
}
