/** Rows of the catalogue as people write them, and as the store keeps them. */
import {
  keyProblem,
  lacksInput,
  NOT_RESERVED,
  protocolProblem,
  reservedField,
  toChannel,
  toGroup,
  toModel,
  WITH_INPUT,
} from '../../terms/catalog.ts'
import type { Channel, ChannelKey, ChannelState } from '../../terms/channel.ts'
import { CERTIFICATES, readCertificates } from '../../terms/config-channel.ts'
import { secretHeaders } from '../../terms/credentials.ts'
import type { Group, Model } from '../../terms/records.ts'
import { AdminError } from '../answer.ts'
import { channelRow, groupRow, modelRow } from './forms.ts'
import { read } from './read.ts'

const MICROS = 1_000_000
const decimal = (millionths: number): number => millionths / MICROS

export const readGroup = (sent: object): Group => toGroup(read(groupRow, sent))

export const showGroup = ({ name, multiplier, rate, hedgeMs }: Group): object => ({
  name,
  multiplier: decimal(multiplier),
  rate,
  hedge: hedgeMs === 0 ? null : { after: `${hedgeMs}ms` },
})

export function readModel(sent: object): Model {
  const row = read(modelRow, sent)
  if (row.price !== undefined && Object.values(row.price).every(price => price === undefined))
    throw new AdminError(400, 'price: expected at least one price')
  if (row.price !== undefined && lacksInput(row.price)) throw new AdminError(400, `price.input: expected ${WITH_INPUT}`)
  return toModel(row)
}

export const showModel = ({ name, price, maxOutput, defaultOutput, inputFactor, ...model }: Model): object => ({
  name,
  price: price === null ? null : Object.fromEntries(Object.entries(price).map(([line, cny]) => [line, decimal(cny)])),
  max_output: maxOutput,
  default_output: defaultOutput,
  input_factor: decimal(inputFactor),
  max_input: model.maxInput,
  media_input: model.mediaInput,
  tool_input: model.toolInput,
  max_searches: model.maxSearches,
})

export function readChannel(sent: object): Channel {
  const row = read(channelRow, sent)
  const problem = keyProblem(row)
  if (problem !== null) throw new AdminError(400, `key: expected ${problem}`)
  const reserved = reservedField(row)
  if (reserved !== null) throw new AdminError(400, `${reserved}: expected ${NOT_RESERVED}`)
  if (row.ca !== undefined) {
    const ca = readCertificates(row.ca, file => file)
    if (ca === null) throw new AdminError(400, `ca: expected ${CERTIFICATES}`)
    row.ca = ca
  }
  const protocol = protocolProblem(row)
  if (protocol !== null) throw new AdminError(400, `kind: expected ${protocol}`)
  return toChannel(row)
}

/** Without its credentials. */
export function shownProxy(proxy: string | null): string | null {
  if (proxy === null) return null
  if (proxy === '') return '…' // it cannot be read
  const url = new URL(proxy)
  url.username = url.password = ''
  return url.href
}

/** In the place of a constant that is a secret; it may be sent back, and then stays. */
export const HIDDEN = '=…'
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
