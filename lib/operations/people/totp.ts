/**
 * One-time codes by time (RFC 6238, on RFC 4226): six digits of HMAC-SHA-1 over the number of the half minute; and recovery
 * codes: ten of 128 bits each, shown once, kept as SHA-256, each good for one sign-in without the app.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { hashOf } from '../../base/secrets.ts'

const DIGITS = 6
const STEP_MS = 30_000
/** Clocks of phones are off by some seconds, and people type slowly: the step before and the one after are taken too. */
const NEIGHBOURS = [0, -1, 1]
const SECRET_BYTES = 20
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4226: the code of a counter. */
export function hotp(secret: Buffer, counter: number, digits = DIGITS): string {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(counter))
  const mac = createHmac('sha1', secret).update(bytes).digest()
  const at = mac[mac.length - 1]! & 0xf
  return String((mac.readUInt32BE(at) & 0x7fff_ffff) % 10 ** digits).padStart(digits, '0')
}

export const stepAt = (ms: number): number => Math.floor(ms / STEP_MS)

/** A new secret, in base 32 as apps take it. */
export const newTotpSecret = (): string => toBase32(randomBytes(SECRET_BYTES))

export function toBase32(bytes: Buffer): string {
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  return (bits.match(/.{1,5}/g) ?? []).map(five => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

export function fromBase32(text: string): Buffer {
  const bits = [...text].map(letter => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map(eight => Number.parseInt(eight, 2)))
}

/** The step of which `code` is the code, near `ms`; null = of none. The caller uses the step up. */
export function stepOf(secret: string, code: string, ms: number): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const key = fromBase32(secret)
  const given = Buffer.from(code)
  const fits = NEIGHBOURS.map(by => stepAt(ms) + by).filter(step =>
    timingSafeEqual(Buffer.from(hotp(key, step)), given),
  )
  return fits[0] ?? null
}

/** What an app reads from a QR code. */
export function provisioningUri(secret: string, issuer: string, email: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1000}`
}

const COUNT = 10
const BYTES = 16
const GROUP = 5

/** In groups, so that people can copy them from paper. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: COUNT }, () =>
    (
      toBase32(randomBytes(BYTES))
        .toLowerCase()
        .match(new RegExp(`.{1,${GROUP}}`, 'g')) as string[]
    ).join('-'),
  )

const plain = (code: string): string => code.toLowerCase().replace(/[\s-]/g, '')

export const recoveryHash = (code: string): string => hashOf(plain(code))

/** Whether a text is meant to be a recovery code, and not one of an app. */
export const isRecoveryCode = (code: string): boolean => /^[a-z2-7]{26}$/.test(plain(code))
