/**
 * Rows of the catalogue as people write them, without credentials: what the admin API answers, and what the log of
 * actions says of a change.
 */
import type { Channel, Group, Model, Price, PriceList } from '../terms/records.ts'
import { secretHeaders } from '../base/secrets.ts'
import { decimal } from '../base/money.ts'

export const showGroup = ({ name, multiplier, rate, hedgeMs, ...group }: Group) => ({
  name,
  multiplier: decimal(multiplier),
  rate,
  hedge: hedgeMs === 0 ? null : { after: `${hedgeMs}ms` },
  read_ons: group.readOns,
  public: group.public,
})

export const showModel = ({ name, price, maxOutput, defaultOutput, inputFactor, ...model }: Model) => ({
  name,
  price: price === null ? null : showPrice(price),
  max_output: maxOutput,
  default_output: defaultOutput,
  input_factor: decimal(inputFactor),
  max_input: model.maxInput,
  media_input: model.mediaInput,
  tool_input: model.toolInput,
  max_searches: model.maxSearches,
  context: model.context,
  overhead_input: model.overheadInput,
  picture_input_max: model.pictureInputMax,
  searches: model.searches,
  image_form: model.imageForm,
  thinking: model.thinking,
  efforts: model.efforts,
  sampling: model.sampling,
  system_turns: model.systemTurns,
  family: model.family,
  offline: model.offline === true || model.offline.length > 0 ? model.offline : false,
})

/** The address of the proxy without the user and password in it. */
export function shownProxy(proxy: string | null): string | null {
  if (proxy === null) return null
  if (proxy === '') return '…' // the stored address cannot be decrypted
  const url = new URL(proxy)
  url.username = url.password = ''
  return url.href
}

/** Shown in place of a header value that is a secret. When it is sent back, the stored value stays. */
export const HIDDEN = '=…'
const shownSecrets = (headers: Channel['headers']): Channel['headers'] =>
  Object.fromEntries(Object.keys(secretHeaders(headers)).map(name => [name, HIDDEN]))

/** A channel without its keys. */
export const shownChannel = (channel: Channel) => ({
  name: channel.name,
  base_url: channel.baseUrl,
  kind: channel.kind,
  paths: channel.paths,
  query: channel.query,
  protocols: channel.protocols,
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
  cost: showCost(channel.cost),
  translate: channel.translate === true || channel.translate.length > 0 ? channel.translate : false,
  cache_marks: channel.cacheMarks,
  reads_max: channel.readsMax,
  thoughts: channel.thoughts,
  searches: channel.searches,
  status: channel.status,
})

/** A map of prices, in which the prices of pictures may be a map themselves. */
const decimals = (map: object): object =>
  Object.fromEntries(
    Object.entries(map).map(([name, value]) => [name, typeof value === 'number' ? decimal(value) : decimals(value)]),
  )

export const showPrice = (price: Price): object => (price.format === undefined ? showKnown(price) : price)

const showKnown = ({ search_unit, over, tiers, ...list }: Price): object => ({
  ...decimals(list satisfies PriceList),
  ...(search_unit === undefined ? {} : { search_unit }),
  ...(over === undefined ? {} : { over: over.map(({ tokens, ...entry }) => ({ tokens, ...decimals(entry) })) }),
  ...(tiers === undefined ? {} : { tiers: decimals(tiers) }),
})

export const showCost = (cost: Channel['cost']): object | number | null =>
  typeof cost === 'object' && cost !== null
    ? Object.fromEntries(Object.entries(cost).map(([model, price]) => [model, showPrice(price)]))
    : cost === null
      ? null
      : decimal(cost)
