/**
 * Reads the catalogue file. What the schema alone cannot check is checked here: duplicate names, keys and certificates of
 * channels, and references to accounts and groups. The admin API uses the same conversions (`catalog-rows.ts`) and checks of
 * channels (`channel-problems.ts`) for single rows.
 */
import { type CatalogAccount, type CatalogKey, toAccount, toChannel, toGroup, toKey, toModel } from './catalog-rows.ts'
import { type Kind, type RowText, rowTexts } from './catalog-text.ts'
import type { Channel, Group, Model } from '../terms/records.ts'
import { addressProblem, NOT_RESERVED, protocolProblem, reservedField } from './channel-problems.ts'
import { type CatalogForm, catalogSchema } from './catalog-schema.ts'
import { CERTIFICATES, readCertificates } from './channel-schema.ts'
import { keyProblem } from './credentials-schema.ts'
import { refuseDuplicates, validate } from './issues.ts'
import type { Finding } from './finding.ts'
import { didYouMean } from './typos.ts'
import { type Path, readSource, Source } from './yaml.ts'

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
  /** Rules of sense whose findings are meant, or `RULE:ROW` for one row. */
  accept: string[]
  /** One line for each finding about the catalogue, in the order of the file; what stands in other rows is left out. */
  tell(findings: readonly Finding[]): string[]
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
function placeOf({ row, ofCatalog, path }: Finding, form: CatalogForm, source: Source): Place | null {
  if (row === null) return ofCatalog === true ? { path, atKey: false } : null
  const i = form[row.kind].findIndex(one => nameIn(one) === row.name)
  if (i < 0) return null
  const written = (source.value as Partial<Record<Kind, Record<string, unknown>[]>>)[row.kind]?.[i] ?? {}
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
