/**
 * Channels: rows as people write them, and as the store keeps them. Credentials are never shown; a row that was read and
 * is written back keeps those it has.
 */
import { keyProblem, NOT_RESERVED, protocolProblem, reservedField, toChannel } from '../terms/catalog.ts'
import type { Channel, ChannelKey, ChannelState } from '../terms/channel.ts'
import { catalogSchema } from '../terms/config-catalog.ts'
import { CERTIFICATES, readCertificates } from '../terms/config-channel.ts'
import { secretHeaders } from '../terms/credentials.ts'
import { OperationError } from './error.ts'
import { read } from './read.ts'

const channelRow = catalogSchema.shape.channels.unwrap().element

export function readChannel(sent: object): Channel {
  const row = read(channelRow, sent)
  const problem = keyProblem(row)
  if (problem !== null) throw new OperationError('invalid', `key: expected ${problem}`)
  const reserved = reservedField(row)
  if (reserved !== null) throw new OperationError('invalid', `${reserved}: expected ${NOT_RESERVED}`)
  if (row.ca !== undefined) {
    const ca = readCertificates(row.ca, file => file)
    if (ca === null) throw new OperationError('invalid', `ca: expected ${CERTIFICATES}`)
    row.ca = ca
  }
  const protocol = protocolProblem(row)
  if (protocol !== null) throw new OperationError('invalid', `kind: expected ${protocol}`)
  return toChannel(row)
}

/** Without its credentials. */
function shownProxy(proxy: string | null): string | null {
  if (proxy === null) return null
  if (proxy === '') return '…' // it cannot be read
  const url = new URL(proxy)
  url.username = url.password = ''
  return url.href
}

/** In the place of a constant that is a secret; it may be sent back, and then stays. */
const HIDDEN = '=…'
const shownSecrets = (headers: Channel['headers']): Channel['headers'] =>
  Object.fromEntries(Object.keys(secretHeaders(headers)).map(name => [name, HIDDEN]))

/** The state of a channel whose credentials cannot be read: it is not used. */
const SEALED = 'sealed under another secret'

const showKey = ({ maxConcurrency }: ChannelKey, state: string): object => ({ max_concurrency: maxConcurrency, state })

/** Without the keys; of several, what may be said of them stands in their places. */
export const showChannel = (channel: Channel, { state, keys }: ChannelState): object => ({
  name: channel.name,
  base_url: channel.baseUrl,
  kind: channel.kind,
  paths: channel.paths,
  query: channel.query,
  protocols: channel.protocols,
  ...(channel.keys.length > 1 ? { keys: channel.keys.map((key, i) => showKey(key, keys[i] ?? state)) } : {}),
  auth: channel.authHeader === null ? null : { header: channel.authHeader },
  headers: { ...channel.headers, ...shownSecrets(channel.headers) },
  pass_headers: channel.passHeaders,
  groups: channel.groups,
  models: channel.models,
  weight: channel.weight,
  priority: channel.priority,
  max_concurrency: channel.maxConcurrency,
  proxy: shownProxy(channel.proxy),
  ca: channel.ca,
  http2: channel.http2,
  private: channel.private,
  status: channel.status,
  state: channel.sealed === true ? SEALED : state,
})

/** The row with the credentials that it leaves out, as far as they can be read. `direct`: without a proxy from now on. */
export function withCredentials(
  sent: Record<string, unknown>,
  before: Channel | undefined,
  direct: boolean,
): Record<string, unknown> {
  return withHeaders(withProxy(withKeys(sent, before), direct ? undefined : before), before)
}

/** A key that is not sent stays, each in its place: what was read may be written back, also with a new `key` beside it. */
function withKeys({ keys, ...sent }: Record<string, unknown>, before: Channel | undefined): Record<string, unknown> {
  const readable = before?.sealed === true ? undefined : before
  const there = readable?.keys.map(one => ({ key: one.key, max_concurrency: one.maxConcurrency }))
  if (keys === undefined) return sent['key'] !== undefined || there === undefined ? sent : { ...sent, keys: there }
  if (!Array.isArray(keys)) return { ...sent, keys }
  const rows = keys.map(row => withoutState(row))
  if (sent['key'] !== undefined && rows.every(row => !('key' in row))) return sent
  return { ...sent, keys: rows.map((row, i) => ('key' in row ? row : { key: there?.[i]?.key, ...row })) }
}

/**
 * A proxy that is not sent stays, as a key does: else whoever changes a weight would send everything past it. So does one
 * sent as it is shown, without its credentials.
 */
function withProxy(sent: Record<string, unknown>, before: Channel | undefined): Record<string, unknown> {
  const there = before?.proxy ?? null
  const stays = there !== null && (sent['proxy'] === undefined || sent['proxy'] === shownProxy(there))
  if (stays && there === '')
    throw new OperationError(
      'invalid',
      'proxy: expected it once more, or null: what is stored is sealed under another secret',
    )
  return stays ? { ...sent, proxy: there } : sent
}

/** Constants that are shown hidden stay as they are when they are sent so. */
function withHeaders(sent: Record<string, unknown>, before: Channel | undefined): Record<string, unknown> {
  const { headers } = sent
  if (typeof headers !== 'object' || headers === null || before === undefined) return sent
  const kept = Object.entries(before.headers).filter(
    ([name, value]) => value !== '' && (headers as Record<string, unknown>)[name] === HIDDEN,
  )
  return { ...sent, headers: { ...headers, ...Object.fromEntries(kept) } }
}

/** `state` is the gateway's to say, of a channel and of each of its keys. */
export const withoutState = (row: unknown): object => {
  if (typeof row !== 'object' || row === null) return {}
  const { state: _, ...rest } = row as Record<string, unknown>
  return rest
}
