/**
 * An authenticator in software, with the part of a browser that stands before it: makes passkeys and answers challenges by the WebAuthn
 * standard, with Node's own cryptography and nothing of the library that checks the answers. `how` says what is wrong with an answer.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256'

interface Asked {
  challenge: string
  rpId?: string
  rp?: { id: string }
  user?: { id: string }
}

/** What an answer says other than it should. */
export interface How {
  origin?: string
  rpId?: string
  type?: string
  challenge?: string
  /** False = the person was not asked for a finger or a PIN. */
  verified?: boolean
  present?: boolean
  counter?: number
  synced?: boolean
  userHandle?: string | null
  /** The signature of another key. */
  key?: KeyObject
  /** Of the answer that makes a passkey. */
  attestation?: { fmt: string; statement: Cbor }
}

type Cbor = number | string | Buffer | Map<Cbor, Cbor> | Cbor[]

function head(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}

function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)])
  return Buffer.concat([head(5, value.size), ...[...value].flatMap(pair => pair.map(cbor))])
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()
const text = (bytes: Buffer): string => bytes.toString('base64url')
const bytes = (base64url: string | undefined): Buffer => Buffer.from(base64url ?? '', 'base64url')

const made = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

function cose(algorithm: Algorithm, key: KeyObject): Buffer {
  const { x, y, n, e } = key.export({ format: 'jwk' })
  const parts = {
    ES256: [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ],
    EdDSA: [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(x)],
    ],
    RS256: [
      [1, 3],
      [3, -257],
      [-1, bytes(n)],
      [-2, bytes(e)],
    ],
  }[algorithm]
  return cbor(new Map(parts as [Cbor, Cbor][]))
}

export class Authenticator {
  readonly #origin: string
  readonly #algorithm: Algorithm
  readonly #pair: { publicKey: KeyObject; privateKey: KeyObject }
  readonly id = text(randomBytes(32))
  /** What the site has said its person is. */
  userHandle: string | null = null
  #counter = 0

  constructor(origin: string, algorithm: Algorithm = 'ES256') {
    this.#origin = origin
    this.#algorithm = algorithm
    this.#pair = made[algorithm]()
  }

  make(asked: Asked, how: How = {}) {
    this.userHandle = asked.user?.id ?? null
    const id = bytes(this.id)
    const length = Buffer.from([id.length >> 8, id.length & 255])
    const credential = Buffer.concat([Buffer.alloc(16), length, id, cose(this.#algorithm, this.#pair.publicKey)])
    const { fmt, statement } = how.attestation ?? { fmt: 'none', statement: new Map() }
    const authData = this.#authData(asked, how, credential)
    const attestation = new Map<Cbor, Cbor>([
      ['fmt', fmt],
      ['attStmt', statement],
      ['authData', authData],
    ])
    const response = {
      clientDataJSON: text(this.#clientData('webauthn.create', asked, how)),
      attestationObject: text(cbor(attestation)),
      transports: ['internal', 'something-new'],
    }
    return { ...this.#credential(), response }
  }

  answer(asked: Asked, how: How = {}) {
    const clientData = this.#clientData('webauthn.get', asked, how)
    const authData = this.#authData(asked, how)
    const signed = Buffer.concat([authData, sha256(clientData)])
    const digest = this.#algorithm === 'EdDSA' ? null : 'sha256'
    const response = {
      clientDataJSON: text(clientData),
      authenticatorData: text(authData),
      signature: text(sign(digest, signed, how.key ?? this.#pair.privateKey)),
      userHandle: how.userHandle === undefined ? this.userHandle : how.userHandle,
    }
    return { ...this.#credential(), response }
  }

  /** With what browsers say beside it. */
  #credential() {
    const { id } = this
    const more = { rawId: id, authenticatorAttachment: 'platform', clientExtensionResults: {} }
    return { id, type: 'public-key' as const, ...more }
  }

  #clientData(type: string, { challenge }: Asked, how: How): Buffer {
    const said = { type: how.type ?? type, challenge: how.challenge ?? challenge, origin: how.origin ?? this.#origin }
    return Buffer.from(JSON.stringify({ ...said, crossOrigin: false }))
  }

  #authData({ rpId, rp }: Asked, how: How, credential?: Buffer): Buffer {
    const { present = true, verified = true, synced = false } = how
    const flags = [present ? 1 : 0, verified ? 4 : 0, synced ? 8 + 16 : 0, credential === undefined ? 0 : 64]
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(how.counter ?? this.#counter++)
    const name = how.rpId ?? rpId ?? rp?.id ?? ''
    const sum = flags.reduce((all, one) => all + one, 0)
    return Buffer.concat([sha256(name), Buffer.from([sum]), counter, credential ?? Buffer.alloc(0)])
  }
}
