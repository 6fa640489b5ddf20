/**
 * Turns channels from the form that people write into the form that the store keeps, and back. A channel is shown
 * without its credentials (upstream keys, proxy password, secret headers). When an administrator reads a channel, edits
 * it and sends it back, credentials that are missing, or stand there as the placeholder that was shown, stay as they
 * are stored.
 */
import { readFileSync } from 'node:fs'
import {
  toChannel,
  HIDDEN,
  shownChannel,
  shownProxy,
  addressProblem,
  NOT_RESERVED,
  protocolProblem,
  reservedField,
} from '../../catalog-file/rows.ts'
import type { Channel, ChannelKey, ChannelState } from '../../terms/records.ts'
import { catalogSchema } from '../../catalog-file/schema.ts'
import {
  CERTIFICATES,
  readCertificates,
  CREDENTIAL_NAMES,
  keyProblem,
  writtenCredential,
} from '../../catalog-file/channel-schema.ts'
import { OperationError } from '../error.ts'
import { read } from '../read.ts'

const channelRow = catalogSchema.shape.channels.unwrap().element

export function readChannel(sent: object): Channel {
  const row = read(channelRow, sent)
  const problem = keyProblem(row)
  if (problem !== null) throw new OperationError('invalid', `key: expected ${problem}`)
  const address = addressProblem(row)
  if (address !== null) throw new OperationError('invalid', `base_url: expected ${address}`)
  const reserved = reservedField(row)
  if (reserved !== null) throw new OperationError('invalid', `${reserved}: expected ${NOT_RESERVED}`)
  if (row.ca !== undefined) {
    const ca = readCertificates(row.ca, file => readFileSync(file, 'utf8'))
    if (ca === null) throw new OperationError('invalid', `ca: expected ${CERTIFICATES}`)
    row.ca = ca
  }
  const protocol = protocolProblem(row)
  if (protocol !== null) throw new OperationError('invalid', `kind: expected ${protocol}`)
  return toChannel(row)
}

/** Shown as the state of a channel whose credentials cannot be decrypted. Such a channel is not used. */
const SEALED = 'sealed under another secret'

const showKey = ({ maxConcurrency }: ChannelKey, state: string | null): object => ({
  max_concurrency: maxConcurrency,
  state,
})

/**
 * A channel as the admin API shows it. Keys are left out; when there are several, each is shown by its limit and state. `seen` null:
 * no serving process can be asked, so that nobody knows the state.
 */
export const showChannel = (channel: Channel, seen: ChannelState | null): object => {
  const state = seen?.state ?? null
  return {
    ...shownChannel(channel),
    ...(channel.keys.length > 1 ? { keys: channel.keys.map((key, i) => showKey(key, seen?.keys[i] ?? state)) } : {}),
    state: channel.sealed === true ? SEALED : state,
  }
}

/**
 * Completes a row that was sent with the stored credentials that it leaves out, as far as they can be decrypted.
 * `before` is the stored channel. With `direct` the channel loses its proxy.
 */
export function withCredentials(
  sent: Record<string, unknown>,
  before: Channel | undefined,
  direct: boolean,
): Record<string, unknown> {
  return withHeaders(withProxy(withKeys(sent, before), direct ? undefined : before), before)
}

/**
 * A stored key stays when the row leaves it out: all keys when there is neither `key` nor `keys`, else the one at the
 * same place in the list. A row as it was shown may also be sent with a new `key`: that one then replaces the whole
 * list.
 */
function withKeys({ keys, ...sent }: Record<string, unknown>, before: Channel | undefined): Record<string, unknown> {
  const readable = before?.sealed === true ? undefined : before
  const there = readable?.keys.map(one => writtenCredential(readable.kind, one.key))
  if (keys === undefined) {
    if (hasCredential(sent) || readable === undefined) return sent
    return { ...sent, keys: readable.keys.map((one, i) => ({ ...there?.[i], max_concurrency: one.maxConcurrency })) }
  }
  if (!Array.isArray(keys)) return { ...sent, keys }
  const rows = keys.map(row => withoutState(row))
  if (hasCredential(sent) && rows.every(row => !hasCredential(row))) return sent
  return { ...sent, keys: rows.map((row, i) => (hasCredential(row) ? row : { ...there?.[i], ...row })) }
}

/** What a stored credential would be sent to, or by, if it stayed. */
const WAY: [name: string, of: (channel: Channel) => string | null][] = [
  ['base_url', ({ baseUrl }) => new URL(baseUrl).origin],
  ['proxy', ({ proxy }) => proxy],
  ['ca', ({ ca }) => ca],
  ['auth', ({ authHeader }) => authHeader],
]

/**
 * Refuses that a stored key goes another way than before: whoever may change a channel must not learn its key by that. Who
 * has the key can enter it again. `sent`: the row before it was completed.
 */
export function checkWay(sent: Record<string, unknown>, before: Channel | undefined, channel: Channel): void {
  if (before === undefined || before.keys.length === 0) return
  const { keys, headers } = sent
  const enters = hasCredential(sent) || (Array.isArray(keys) && keys.every(row => hasCredential(withoutState(row))))
  if (enters && !Object.values((headers as object | undefined) ?? {}).includes(HIDDEN)) return
  const [changed] = WAY.find(([, of]) => of(before) !== of(channel)) ?? []
  if (changed === undefined) return
  throw new OperationError('invalid', {
    zh: `key: ${changed} 已更改，请重新输入密钥${enters ? '和保密的请求头' : ''}`,
    en: `key: enter the key again${enters ? ', and the headers that are secret' : ''}, because ${changed} is another`,
  })
}

const hasCredential = (row: object): boolean =>
  CREDENTIAL_NAMES.some(name => (row as Record<string, unknown>)[name] !== undefined)

/**
 * The stored proxy stays when the row leaves it out, or has it as it was shown, without its password. Otherwise
 * somebody who changes the weight of a channel would remove its proxy without noticing.
 */
function withProxy(sent: Record<string, unknown>, before: Channel | undefined): Record<string, unknown> {
  const there = before?.proxy ?? null
  const stays = there !== null && (sent['proxy'] === undefined || sent['proxy'] === shownProxy(there))
  if (stays && there === '')
    throw new OperationError(
      'invalid',
      'proxy: expected the address once more, or null: the stored one is sealed under another secret',
    )
  return stays ? { ...sent, proxy: there } : sent
}

/** A secret header value stays as it is stored when the row has the placeholder in its place. */
function withHeaders(sent: Record<string, unknown>, before: Channel | undefined): Record<string, unknown> {
  const { headers } = sent
  if (typeof headers !== 'object' || headers === null || before === undefined) return sent
  const kept = Object.entries(before.headers).filter(
    ([name, value]) => value !== '' && (headers as Record<string, unknown>)[name] === HIDDEN,
  )
  return { ...sent, headers: { ...headers, ...Object.fromEntries(kept) } }
}

/** Drops what the gateway shows but nobody can set, from a channel or from one of its keys. */
export const withoutState = (row: unknown): object => {
  if (typeof row !== 'object' || row === null) return {}
  const { state: _, health: __, traffic: ___, balance: ____, ...rest } = row as Record<string, unknown>
  return rest
}
