/**
 * Encryption of upstream credentials in the store ("sealing"), with AES-256-GCM under a key derived from the operator's
 * secret. The channel's name is authenticated with each text, so that a sealed text copied to another channel cannot be
 * opened. During a rotation of the secret, texts sealed under the previous secret can be opened too; new texts are
 * always sealed under the present one.
 *
 * The same secret also signs: a signature (a keyed digest) shows whether a secret in a catalogue file has changed since
 * the file was last applied, without storing that secret.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1:'
/** Hex digits of the id of the secret, which begins a signature, and of the digest that follows it. */
const [ID_LENGTH, SIGNATURE_LENGTH] = [12, 48]

interface Opened {
  plain: string
  /** True when the text was sealed under the present secret, false when under the previous one. */
  current: boolean
}

class Secret {
  readonly #sealing: Uint8Array
  readonly #signing: Uint8Array
  /** A digest that identifies the secret without revealing it. */
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

  /** null when `sealed` was sealed under an unknown secret or for another name, or is no sealed text. */
  open(sealed: string, name: string): Opened | null {
    const plain = this.#current.open(sealed, name)
    if (plain !== null) return { plain, current: true }
    const before = this.#previous?.open(sealed, name) ?? null
    return before === null ? null : { plain: before, current: false }
  }

  sign(text: string): string {
    return this.#current.sign(text)
  }

  /** Whether `signature` is that of `text`; null when it was made under a secret that this process does not know. */
  signed(text: string, signature: string): boolean | null {
    const secret = [this.#current, this.#previous].find(one => one !== null && signature.startsWith(`${one.id}:`))
    return secret ? secret.sign(text) === signature : null
  }
}
