/** Turns rows of the catalogue file, and of calls that change one, into the records that the store keeps, with every default filled in. */
import { mapValues, withoutUndefined } from '../base/objects.ts'
import { iso } from '../base/clock.ts'
import { decimal, type Micro } from '../base/money.ts'
import { namesReserved } from '../base/reserved-addresses.ts'
import { secretHeaders } from '../base/secrets.ts'
import { PROTOCOLS } from '../protocols/names.ts'
import type { Channel, ChannelKey, Group, Model, OverList, Price, PriceList, SetLimit } from '../terms/records.ts'
import { regionProblem, credentialTextOf } from './channel-schema.ts'
import type { CatalogForm } from './schema.ts'
import { PROVIDERS, providerOf, unspoken } from './upstreams.ts'

export interface CatalogAccount {
  name: string
  groups: string[]
  /** Opening top-up; null = none. */
  balance: Micro | null
  budget: SetLimit | null
  /** Absent = false, so that the digests of rows from before this field stay as they are. */
  sandbox?: true
}

export interface CatalogKey {
  account: string
  name: string
  secret: string
  group: string
  expiresAtMs: number | null
  cap: SetLimit | null
  allowIps: string[] | null
  models: string[] | null
  status: 'enabled' | 'disabled'
}

export const toGroup = ({ name, multiplier, rate, hedge, ...group }: CatalogForm['groups'][number]): Group => ({
  name,
  multiplier,
  rate: rate ?? null,
  hedgeMs: hedge?.after ?? 0,
  readOns: group.read_ons,
  public: group.public,
})

export const toModel = (model: CatalogForm['models'][number]): Model => ({
  name: model.name,
  price: model.price === undefined ? null : toPrice(model.price),
  maxOutput: model.max_output ?? null,
  defaultOutput: model.default_output,
  inputFactor: model.input_factor,
  maxInput: model.max_input,
  mediaInput: model.media_input,
  toolInput: model.tool_input,
  maxSearches: model.max_searches,
  context: model.context,
  overheadInput: model.overhead_input,
  pictureInputMax: model.picture_input_max,
  searches: model.searches ?? null,
  family: model.family ?? null,
  vendor: model.vendor ?? null,
  offline: model.offline,
  imageForm: model.image_form ?? null,
  thinking: model.thinking ?? null,
  efforts: model.efforts,
  sampling: model.sampling,
  systemTurns: model.system_turns,
})

export const toPrice = ({ over, ...price }: NonNullable<CatalogForm['models'][number]['price']>): Price => ({
  ...(withoutUndefined(price) as Price),
  ...(over === undefined ? {} : { over: over.map(entry => withoutUndefined(entry) as OverList) }),
})

const toCost = (cost: ChannelForm['cost']): Channel['cost'] =>
  typeof cost === 'object' ? mapValues(cost, toPrice) : (cost ?? null)

type ChannelForm = CatalogForm['channels'][number]

const toBudget = (budget: ChannelForm['budget']): Channel['budget'] =>
  budget === undefined
    ? null
    : { amount: budget.amount ?? null, fromMs: budget.from ?? null, warnBelow: budget.warn_below ?? null }

const toKeys = (form: ChannelForm): ChannelKey[] =>
  form.keys === undefined
    ? [{ key: credentialTextOf(form), maxConcurrency: 0 }]
    : form.keys.map(one => ({ key: credentialTextOf(one), maxConcurrency: one.max_concurrency }))

export const toChannel = (channel: ChannelForm): Channel => ({
  name: channel.name,
  baseUrl: channel.base_url,
  kind: channel.kind ?? null,
  paths: withoutUndefined(channel.paths),
  query: channel.query,
  protocols: channel.protocols,
  keys: toKeys(channel),
  authHeader: channel.auth?.header ?? null,
  headers: channel.headers,
  passHeaders: channel.pass_headers,
  groups: channel.groups,
  models: channel.models,
  weight: channel.weight,
  priority: channel.priority,
  maxConcurrency: channel.max_concurrency,
  proxy: channel.proxy ?? null,
  ca: channel.ca ?? null,
  http2: channel.http2,
  private: channel.private,
  cost: toCost(channel.cost),
  budget: toBudget(channel.budget),
  translate: channel.translate,
  cacheMarks: channel.cache_marks,
  finish: channel.finish,
  readsMax: channel.reads_max,
  thoughts: channel.thoughts ?? null,
  searches: channel.searches ?? null,
  status: channel.status,
})

export const toKey = (key: CatalogForm['keys'][number]): CatalogKey => ({
  account: key.account,
  name: key.name,
  secret: key.secret,
  group: key.group,
  expiresAtMs: key.expires_at ?? null,
  cap: key.cap ?? null,
  allowIps: key.allow_ips ?? null,
  models: key.models ?? null,
  status: key.status,
})

export const toAccount = ({
  name,
  groups,
  balance,
  budget,
  sandbox,
}: CatalogForm['accounts'][number]): CatalogAccount => ({
  name,
  groups,
  balance: balance ?? null,
  budget: budget ?? null,
  ...(sandbox ? { sandbox } : {}),
})

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
  vendor: model.vendor,
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
  budget: showBudget(channel.budget),
  translate: channel.translate === true || channel.translate.length > 0 ? channel.translate : false,
  cache_marks: channel.cacheMarks,
  finish: channel.finish,
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

const showCost = (cost: Channel['cost']): object | number | null =>
  typeof cost === 'object' && cost !== null ? mapValues(cost, showPrice) : cost === null ? null : decimal(cost)

const showBudget = (budget: Channel['budget']): object | null =>
  budget === null
    ? null
    : withoutUndefined({
        amount: budget.amount === null ? undefined : decimal(budget.amount),
        from: budget.fromMs === null ? undefined : iso(budget.fromMs),
        warn_below: budget.warnBelow === null ? undefined : decimal(budget.warnBelow),
      })

export const NOT_RESERVED = 'an address that is not link-local or reserved (or private: true)'

/** The field of a channel whose URL names a reserved address, which only `private: true` allows; null = none. */
export function reservedField(channel: ChannelForm): 'base_url' | 'proxy' | null {
  if (channel.private) return null
  if (namesReserved(channel.base_url)) return 'base_url'
  return channel.proxy !== undefined && namesReserved(channel.proxy) ? 'proxy' : null
}

/**
 * Complains, as the text that follows "expected", of a protocol for which neither the kind nor `paths` has a path; null
 * = none.
 */
export function protocolProblem(form: ChannelForm): string | null {
  const { kind } = form
  const [missing] = unspoken({ ...toChannel(form) })
  if (kind === undefined || missing === undefined) return null
  const spoken = PROTOCOLS.filter(protocol => protocol in PROVIDERS[kind].paths).join(', ')
  return `a kind that speaks ${missing}, or its path under paths (${kind} speaks ${spoken})`
}

/** Complains, as the text that follows "expected", of an address that the kind of the channel cannot have; null = it can. */
export function addressProblem(channel: ChannelForm): string | null {
  const form = providerOf(channel.kind ?? null)?.address ?? null
  return form === null || form.fits(new URL(channel.base_url)) ? regionProblem(channel) : form.expected
}
