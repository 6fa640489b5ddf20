/**
 * Takes our secrets out of what an upstream says, before it is logged. The secrets are the keys of the channel and the
 * tokens that were got with them, the password of its proxy, and constant headers that carry a credential. Upstreams quote them whole, escaped, in base64, or in pieces.
 */
import type { Claim } from '../../channels/health.ts'
import type { CompiledChannel } from '../../world/compiled-channel.ts'
import { secretHeaders } from '../../base/secrets.ts'

/** The number of characters of a secret in a row that count as a piece of it. */
const PIECE = 8
const HIDDEN = '***'
/** What looks like a credential, whether it is ours or not. */
const CREDENTIALS = /\b(bearer\s+|basic\s+|sk-)[\w\-.~+/=]{8,}/gi

/** The secrets of a channel, in every spelling that is looked for. */
export function secretsOf(channel: CompiledChannel): string[] {
  const proxy = channel.connection.proxy === null ? null : URL.parse(channel.connection.proxy)
  const all = [...channel.keys.flatMap(key => key.secrets), ...constantsOf(channel), proxy?.password ?? '']
  return all.filter(secret => secret !== '').flatMap(spellings)
}

const constantsOf = ({ headers }: CompiledChannel): string[] =>
  Object.values(secretHeaders(headers)).map(value => value.slice(1).replace(/^"(.*)"$/s, '$1'))

function spellings(secret: string): string[] {
  const plain = decoded(secret)
  return [secret, plain, encodeURIComponent(plain), plain.replaceAll('/', '\\/'), ...inBase64(plain)]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * What a secret looks like inside a longer text in base64. Three bytes make four characters, so there are three ways in which its
 * bytes can fall; the characters at its ends that also depend on its neighbours are left out.
 */
function inBase64(secret: string): string[] {
  const bytes = Buffer.from(secret)
  if (bytes.length < PIECE) return []
  return [0, 1, 2].flatMap(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const end = Math.floor(((before + bytes.length) * 8) / 6)
    const own = text.slice(Math.ceil((before * 8) / 6), end)
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

const NONE: readonly string[] = []

/** Pieces of the secrets of a channel in every spelling, made when they are first needed. */
const piecesOf = new WeakMap<CompiledChannel, ReadonlySet<string>>()

/** True when a short text holds a piece of a secret. This is for every answer, and costs one look-up a character. */
export function quotesSecret(text: string, channel: CompiledChannel): boolean {
  let pieces = piecesOf.get(channel)
  if (pieces === undefined) piecesOf.set(channel, (pieces = new Set(secretsOf(channel).flatMap(windowsOf))))
  const minted = channel.keys[0]?.credential ? channel.keys.flatMap(key => key.minted) : NONE
  for (let i = 0; i + PIECE <= text.length; i++) {
    const piece = text.slice(i, i + PIECE)
    if (pieces.has(piece) || minted.some(token => token.includes(piece))) return true
  }
  return false
}

const windowsOf = (secret: string): string[] =>
  Array.from({ length: Math.max(0, secret.length - PIECE + 1) }, (_, i) => secret.slice(i, i + PIECE))

export function withoutSecrets(text: string, { candidate: { channel }, key }: Claim): string {
  let clean = text
  for (const secret of [...secretsOf(channel), ...key.minted.flatMap(spellings)])
    clean = clean.replaceAll(secret, HIDDEN)
  for (const secret of [...key.secrets, ...key.minted, ...constantsOf(channel)]) clean = withoutPieces(clean, secret)
  return clean.replace(CREDENTIALS, (_, before: string) => `${before}${HIDDEN}`)
}

function withoutPieces(text: string, secret: string): string {
  const pieces = new Set(windowsOf(secret))
  if (pieces.size === 0) return text
  let clean = ''
  let hiddenTo = 0
  for (let i = 0; i < text.length; i++) {
    if (pieces.has(text.slice(i, i + PIECE))) {
      if (i >= hiddenTo) clean += HIDDEN
      hiddenTo = i + PIECE
    }
    if (i >= hiddenTo) clean += text[i]
  }
  return clean
}
