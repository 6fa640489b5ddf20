/**
 * Reads the catalogue file. What the schema alone cannot check is checked here: duplicate names, keys and certificates of
 * channels, and references to accounts and groups. The admin API uses the same conversions and checks of channels
 * (`rows.ts`) for single rows.
 */
import { isCredentialName } from '../base/secrets.ts'
import {
  didYouMean,
  type Path,
  type SenseFinding,
  type Referred,
  readSource,
  readText,
  refuseDuplicates,
  Source,
  validate,
} from '../config/yaml.ts'
import { SEARCH_SUFFIX } from '../protocols/words/server-tools.ts'
import type { Protocol } from '../protocols/names.ts'
import { CATALOG_KINDS, type CatalogKind, type Channel, type Group, type Model } from '../terms/records.ts'
import { CERTIFICATES, CREDENTIAL_NAMES, keyProblem, readCertificates } from './channel-schema.ts'
import {
  addressProblem,
  type CatalogAccount,
  type CatalogKey,
  NOT_RESERVED,
  protocolProblem,
  reservedField,
  toAccount,
  toChannel,
  toGroup,
  toKey,
  toModel,
} from './rows.ts'
import { type CatalogForm, catalogSchema } from './schema.ts'

/** Names that the store has already, which the file may refer to. */
interface KnownNames {
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
  texts: Record<CatalogKind, RowText[]>
  /**
   * Throws ConfigError for accounts and groups that a row refers to and that exist neither in the file nor in `known`.
   * Models need not exist: a channel may serve a model before the model has a price.
   */
  checkReferences(known: KnownNames): void
  /** Rules of sense whose findings are meant, or `RULE:ROW` for one row. */
  accept: string[]
  /** One line for each finding about the catalogue, in the order of the file; what stands in other rows is left out. */
  tell(findings: readonly SenseFinding[]): string[]
}

/** The group that always exists, also when no row describes it. */
const DEFAULT_GROUP = 'default'

/** Throws ConfigError with one line per problem. References are not checked here but by `checkReferences`. */
export const loadCatalog = (file: string, env: NodeJS.ProcessEnv): CatalogFile => fromSource(readSource(file, env))

/** Reads a catalogue from a text, as `loadCatalog` reads one from a file. `file`: the name that problems show. */
export const parseCatalog = (text: string, file: string, env: NodeJS.ProcessEnv): CatalogFile =>
  fromSource(new Source(text, file, env))

/** A catalogue file with all that it refers to, for another machine. */
interface SentCatalog extends Referred {
  text: string
  /** The name that problems show. */
  file: string
}

/** The file as it can be sent. Throws ConfigError, as reading it here does. */
export function catalogToSend(file: string, env: NodeJS.ProcessEnv): SentCatalog {
  const text = readText(file)
  const source = new Source(text, file, env)
  fromSource(source)
  return { text, file, ...source.referred }
}

/** Reads what was sent. Nothing of this machine is looked up for it. */
export const sentCatalog = ({ text, file, env, files }: SentCatalog): CatalogFile =>
  fromSource(new Source(text, file, env, files))

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
      const ca = channel.ca === undefined ? undefined : readCertificates(channel.ca, file => source.read(file))
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
    accounts: form.accounts.map(toAccount),
    keys: form.keys.map(toKey),
    texts: rowTexts(source.value, form),
    checkReferences: known => checkReferences(form, source, known),
    accept: form.accept,
    tell(findings) {
      for (const finding of findings) {
        const { expected, hidden = false, rule } = finding
        const place = placeOf(finding, form, source)
        if (place !== null) source.warn(place.path, expected, { hidden, rule, atKey: place.atKey })
      }
      return source.takeWarnings()
    },
  }
}

/** Where a finding stands in the file; null = it is about the config, or about a row that is not in the file. */
function placeOf({ row, ofCatalog, path }: SenseFinding, form: CatalogForm, source: Source): Place | null {
  if (row === null) return ofCatalog === true ? { path, atKey: false } : null
  const i = form[row.kind].findIndex(one => nameIn(one) === row.name)
  if (i < 0) return null
  const written = (source.value as Partial<Record<CatalogKind, Record<string, unknown>[]>>)[row.kind]?.[i] ?? {}
  const [first, second, ...rest] = path
  // a channel has its models as a list, or as a map whose keys are their names
  if (row.kind === 'channels' && first === 'models' && second !== undefined) {
    const { models } = written
    const at = Array.isArray(models) ? models.findIndex(name => String(name) === second) : second
    return { path: [row.kind, i, first, at], atKey: !Array.isArray(models) }
  }
  // and a key of its own, or several
  if (first === 'keys' && written['keys'] === undefined) return { path: [row.kind, i, ...rest], atKey: false }
  return { path: [row.kind, i, ...path], atKey: false }
}

interface Place {
  path: Path
  atKey: boolean
}

const nameIn = (row: { name: string; account?: string }): string =>
  row.account === undefined ? row.name : `${row.account}/${row.name}`

export interface RowText {
  /** The account of a key; empty for all other rows. */
  owner: string
  name: string
  /** Everything that is not in `price` or `secret`. */
  row: string
  /** The price of a model, compared apart from the rest, so that a new `max_output` does not restore an old price. */
  price: string
  /** The secrets of the row, unencrypted; empty = the row has none. */
  secret: string
}

type Fields = Record<string, unknown>

/** `document` is the file as it is written, with variables filled in; `form` is the same parsed by the schema. */
function rowTexts(document: unknown, form: CatalogForm): Record<CatalogKind, RowText[]> {
  const written = document as Partial<Record<CatalogKind, Fields[]>>
  const of = (kind: CatalogKind) =>
    form[kind].map((row, i) => ({
      owner: '',
      name: row.name,
      price: '',
      secret: '',
      ...SPLIT[kind](written[kind]?.[i] ?? {}, row),
    }))
  return Object.fromEntries(CATALOG_KINDS.map(kind => [kind, of(kind)])) as Record<CatalogKind, RowText[]>
}

const whole = (row: Fields) => ({ row: textOf(row) })

const SPLIT: Record<CatalogKind, (written: Fields, row: Fields) => Partial<RowText> & { row: string }> = {
  groups: whole,
  accounts: whole,
  models: ({ price, ...rest }) => ({ row: textOf(rest), price: textOf(price) }),
  keys: ({ secret, ...rest }, { account }) => ({ owner: String(account), row: textOf(rest), secret: textOf(secret) }),
  channels: splitChannel,
}

/** A channel as it is written. Nothing of it is judged here. */
interface WrittenChannel extends Fields {
  keys?: readonly Fields[] | null
  headers?: Fields | null
}

/**
 * Splits a channel into secrets and the rest. `ca` is taken from the parsed form: the certificates, not their file's
 * name.
 */
function splitChannel({ keys, proxy, headers, ...given }: WrittenChannel, { ca }: Fields) {
  const own = splitKey(given)
  const ofKeys = keys?.map(splitKey)
  const signing = [own, ...(ofKeys ?? [])].flatMap(one => one.signing)
  const [open, closed] = [false, true].map(secret =>
    Object.entries(headers ?? {}).filter(([name]) => isCredentialName(name) === secret),
  )
  return {
    row: textOf({ ...own.rest, ca, keys: ofKeys?.map(one => one.rest), headers: Object.fromEntries(open!) }),
    // a channel with a plain key has the text that it had before there were other credentials
    secret: textOf([own.key, ofKeys?.map(one => one.key), proxy, closed, ...(signing.length === 0 ? [] : [signing])]),
  }
}

/** The credentials of a channel, or of one of its keys, and the rest of it. `signing`: those that are no plain key. */
function splitKey({ key, ...given }: Fields & { key?: unknown }): { key: unknown; signing: unknown[]; rest: Fields } {
  const isSecret = (name: string) => CREDENTIAL_NAMES.some(one => one === name)
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !isSecret(name)))
  const signing = CREDENTIAL_NAMES.map(name => given[name]).filter(one => one !== undefined)
  return { key, signing, rest }
}

/** A canonical text: the order of keys, and quotes around a number, make no difference. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (typeof value !== 'object') return JSON.stringify(String(value))
  const entries = Object.entries(value).map(([name, one]) => [name, textOf(one)] as const)
  const said = entries.filter(([, text]) => text !== '' && text !== '{}').sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${said.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`
}

/** On which the clients of these providers offer the search unasked. */
const OFFERED_ON: readonly Protocol[] = ['messages', 'responses', 'generate']
const MOST_NAMED = 20

interface Rows {
  models: readonly Model[]
  channels: readonly Channel[]
}

export function searchWarnings({ models, channels }: Rows): string[] {
  const unpriced = models
    .filter(({ price }) => price !== null && price.web_search === undefined)
    .map(({ name }) => name)
  const asked = new Set<string>()
  const online = new Set<string>()
  for (const { status, protocols, models: served } of channels) {
    if (status !== 'enabled') continue
    const isOffered = OFFERED_ON.some(protocol => protocols.includes(protocol))
    for (const [name, upstream] of Object.entries(served)) {
      if (upstream.endsWith(SEARCH_SUFFIX)) online.add(name)
      if (isOffered) asked.add(name)
    }
  }
  const refused = unpriced.filter(name => online.has(name))
  const cut = unpriced.filter(name => asked.has(name) && !online.has(name))
  return [
    ...(refused.length === 0
      ? []
      : [
          `${named(refused)}: refused, because the upstream's name ends with ${SEARCH_SUFFIX} and there is no price web_search`,
        ]),
    ...(cut.length === 0
      ? []
      : [
          `${named(cut)}: no price web_search, so a search that a client only offers is left out of its request (0: it is free)`,
        ]),
  ]
}

const named = (names: readonly string[]): string => {
  const more = names.length - MOST_NAMED
  return `${names.length === 1 ? 'model' : 'models'} ${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
