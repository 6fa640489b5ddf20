/**
 * Reads the catalogue file and turns it into the records that the store keeps, with every default filled in. What the
 * schema alone cannot check is checked here: duplicate names, keys and certificates of channels, reserved addresses,
 * prices, and references to accounts and groups. The admin API uses the same conversions and checks for single rows.
 */
import type { Micro } from '../base/money.ts'
import { type Kind, type RowText, rowTexts } from './catalog-text.ts'
import { type KnownRows, warnOf } from './catalog-warnings.ts'
import type { Channel, ChannelKey } from './channel.ts'
import { type CatalogForm, catalogSchema } from './config-catalog.ts'
import { CERTIFICATES, readCertificates } from './config-channel.ts'
import { keyProblem, regionProblem, textOf } from './config-credentials.ts'
import { refuseDuplicates, validate } from './config-issues.ts'
import type { SetLimit } from './limits.ts'
import type { Group, Model, OverList, Price } from './records.ts'
import { namesReserved } from './reserved-addresses.ts'
import { didYouMean } from './typos.ts'
import { KINDS, kindOf } from './upstream-kinds.ts'
import { unspoken } from './upstream-paths.ts'
import { type Path, readSource, Source } from './yaml.ts'

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

/** Names that the store has already, which the file may refer to. */
export interface KnownNames {
  accounts: Iterable<string>
  groups: Iterable<string>
}

export interface CatalogFile {
  groups: Group[]
  models: Model[]
  channels: Channel[]
  accounts: CatalogAccount[]
  keys: CatalogKey[]
  /** For each list of the file, a comparable text of each row, in the order of the rows. */
  texts: Record<Kind, RowText[]>
  /**
   * Throws ConfigError for accounts and groups that a row refers to and that exist neither in the file nor in `known`.
   * Models need not exist: a channel may serve a model before the model has a price.
   */
  checkReferences(known: KnownNames): void
  /** One line for each thing that is allowed and probably not meant. */
  warnings(known: KnownRows): string[]
}

/** The group that always exists, also when no row describes it. */
const DEFAULT_GROUP = 'default'

/** Throws ConfigError with one line per problem. References are not checked here but by `checkReferences`. */
export const loadCatalog = (file: string, env: NodeJS.ProcessEnv): CatalogFile => fromSource(readSource(file, env))

/** The same for a text; `file` is the name that problems show. */
export const parseCatalog = (text: string, file: string, env: NodeJS.ProcessEnv): CatalogFile =>
  fromSource(new Source(text, file, env))

function fromSource(source: Source): CatalogFile {
  const form = validate(catalogSchema, source)
  if (form !== null) {
    checkDuplicates(form, source)
    form.channels.forEach((channel, i) => {
      const problem = keyProblem(channel)
      if (problem !== null) source.problem(['channels', i, 'key'], problem, { hidden: true })
      const address = addressProblem(channel)
      if (address !== null) source.problem(['channels', i, 'base_url'], address, { hidden: true })
      const reserved = reservedField(channel)
      if (reserved !== null) source.problem(['channels', i, reserved], NOT_RESERVED)
      const ca = channel.ca === undefined ? undefined : readCertificates(channel.ca, file => source.resolve(file))
      if (ca === null) source.problem(['channels', i, 'ca'], CERTIFICATES)
      else if (ca !== undefined) channel.ca = ca
      const protocol = protocolProblem(channel)
      if (protocol !== null) source.problem(['channels', i, 'kind'], protocol)
    })
  }
  source.throwProblems()
  return toCatalog(form as CatalogForm, source)
}

function checkDuplicates(form: CatalogForm, source: Source): void {
  for (const kind of ['groups', 'models', 'channels', 'accounts'] as const) {
    refuseDuplicates(
      source,
      form[kind].map(row => row.name),
      i => [kind, i, 'name'],
    )
  }
  const { keys } = form
  refuseDuplicates(
    source,
    keys.map(key => JSON.stringify([key.account, key.name])),
    i => ['keys', i, 'name'],
  )
  refuseDuplicates(
    source,
    keys.map(key => key.secret),
    i => ['keys', i, 'secret'],
    true,
  )
}

function checkReferences(form: CatalogForm, source: Source, known: KnownNames): void {
  const groups = new Set([DEFAULT_GROUP, ...form.groups.map(g => g.name), ...known.groups])
  const accounts = new Set([...form.accounts.map(a => a.name), ...known.accounts])
  for (const { name, path } of groupsNamed(form)) {
    if (!groups.has(name)) source.problem(path, `one of the groups ${someOf(name, groups)}`)
  }
  for (const [i, { account }] of form.keys.entries()) {
    if (!accounts.has(account))
      source.problem(['keys', i, 'account'], `one of the accounts ${someOf(account, accounts)}`)
  }
  source.throwProblems()
}

/** Most names that a problem lists, because a store may have thousands. */
const SHOWN = 20
function someOf(written: string, known: ReadonlySet<string>): string {
  const names = [...known]
  return names.slice(0, SHOWN).join(', ') + (names.length > SHOWN ? ', …' : '') + didYouMean(written, names)
}

/** Every reference to a group, with its path in the file. */
function groupsNamed(form: CatalogForm): { name: string; path: Path }[] {
  const lists = (['channels', 'accounts'] as const).flatMap(kind =>
    form[kind].flatMap((row, i) => row.groups.map((name, j) => ({ name, path: [kind, i, 'groups', j] }))),
  )
  const offline = form.models.flatMap((row, i) =>
    row.offline === true ? [] : row.offline.map((name, j) => ({ name, path: ['models', i, 'offline', j] })),
  )
  return [...lists, ...offline, ...form.keys.map((key, i) => ({ name: key.group, path: ['keys', i, 'group'] }))]
}

function toCatalog(form: CatalogForm, source: Source): CatalogFile {
  return {
    groups: form.groups.map(toGroup),
    models: form.models.map(toModel),
    channels: form.channels.map(toChannel),
    accounts: form.accounts.map(({ name, groups, balance, budget, sandbox }) => ({
      name,
      groups,
      balance: balance ?? null,
      budget: budget ?? null,
      ...(sandbox ? { sandbox } : {}),
    })),
    keys: form.keys.map(toKey),
    texts: rowTexts(source.value, form),
    checkReferences: known => checkReferences(form, source, known),
    warnings(known) {
      warnOf(form, source, known)
      return source.takeWarnings()
    },
  }
}

export const toGroup = ({ name, multiplier, rate, hedge, ...group }: CatalogForm['groups'][number]): Group => ({
  name,
  multiplier,
  rate: rate ?? null,
  hedgeMs: hedge?.after ?? 0,
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

type ChannelForm = CatalogForm['channels'][number]

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
  const spoken = Object.keys(KINDS[kind].paths).join(', ')
  return `a kind that speaks ${missing}, or its path under paths (${kind} speaks ${spoken})`
}

const toKeys = (form: ChannelForm): ChannelKey[] =>
  form.keys === undefined
    ? [{ key: textOf(form), maxConcurrency: 0 }]
    : form.keys.map(one => ({ key: textOf(one), maxConcurrency: one.max_concurrency }))

/** Complains, as the text that follows "expected", of an address that the kind of the channel cannot have; null = it can. */
export function addressProblem(channel: ChannelForm): string | null {
  const form = kindOf(channel.kind ?? null)?.address ?? null
  return form === null || form.fits(new URL(channel.base_url)) ? regionProblem(channel) : form.expected
}

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
  status: channel.status,
})

const toKey = (key: CatalogForm['keys'][number]): CatalogKey => ({
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
