/** Turns rows of the catalogue file, and of calls that change one, into the records that the store keeps, with every default filled in. */
import type { Micro } from '../base/money.ts'
import type { Channel, ChannelKey, SetLimit, Group, Model, OverList, Price } from '../terms/records.ts'
import type { CatalogForm } from './catalog-schema.ts'
import { textOf } from './credentials-schema.ts'

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
  /** Name of the account. */
  account: string
  name: string
  secret: string
  group: string
  /** ms since 1970. */
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
  offline: model.offline,
  imageForm: model.image_form ?? null,
  thinking: model.thinking ?? null,
  efforts: model.efforts,
  sampling: model.sampling,
  systemTurns: model.system_turns,
})

export const toPrice = ({ over, ...price }: NonNullable<CatalogForm['models'][number]['price']>): Price => ({
  ...(withoutGaps(price) as Price),
  ...(over === undefined ? {} : { over: over.map(entry => withoutGaps(entry) as OverList) }),
})

const toCost = (cost: ChannelForm['cost']): Channel['cost'] =>
  typeof cost === 'object'
    ? Object.fromEntries(Object.entries(cost).map(([model, price]) => [model, toPrice(price)]))
    : (cost ?? null)

/** Drops undefined fields, so that a row is equal to the same row read back from the store. */
const withoutGaps = <T extends object>(row: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)) as never

export type ChannelForm = CatalogForm['channels'][number]

const toKeys = (form: ChannelForm): ChannelKey[] =>
  form.keys === undefined
    ? [{ key: textOf(form), maxConcurrency: 0 }]
    : form.keys.map(one => ({ key: textOf(one), maxConcurrency: one.max_concurrency }))

export const toChannel = (channel: ChannelForm): Channel => ({
  name: channel.name,
  baseUrl: channel.base_url,
  kind: channel.kind ?? null,
  paths: withoutGaps(channel.paths),
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
  translate: channel.translate,
  cacheMarks: channel.cache_marks,
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
