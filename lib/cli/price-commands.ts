/** The commands about prices. They open the store that the config names, and end. Each returns what to print. */
import { type CommandOutput, table } from './output.ts'
import { withStoreOf } from './with-store.ts'
import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { COMMAND } from '../base/people.ts'
import { ConfigError } from '../config/config.ts'
import {
  type ImportOptions,
  type ListFormat,
  type Planned,
  judgeImport,
  planImport,
  runImport,
} from '../operations/catalogue/price-import.ts'
import { type PriceChanges, Prices, flatShown } from '../operations/catalogue/prices.ts'
import { OperationError } from '../operations/error.ts'

export interface PriceFlags {
  config: string
  json: boolean
  terminal: boolean
}

const MOST_BYTES = 20 * 1024 * 1024

const inStore = <T>({ config }: PriceFlags, work: (prices: Prices) => Promise<T>): Promise<T> =>
  withStoreOf(config, process.env, store => work(new Prices({ store })))

const asJson = (value: object): CommandOutput => ({ data: `${JSON.stringify(value)}\n`, talk: [] })

export const listPrices = (wanted: PriceFlags, at: string | undefined): Promise<CommandOutput> =>
  inStore(wanted, async prices => {
    const answer = await prices.at(at === undefined ? {} : { at })
    return wanted.json ? asJson(answer) : { data: listTable(answer.data, wanted.terminal), talk: [] }
  })

export const showPriceOf = (wanted: PriceFlags, model: string): Promise<CommandOutput> =>
  inStore(wanted, async prices => {
    const { data } = await prices.history(model, { limit: 1 })
    const version = data[0]?.until === null ? data[0] : undefined
    if (wanted.json) return asJson({ model, ...(version ?? { price: null }) })
    if (version === undefined) return { data: '', talk: [`${model} has no price, so nobody can use it`] }
    const { version: number, at, actor } = version
    const talk = [`${model}: version ${number}, since ${at}, by ${actor}`]
    return { data: oneTable(version.price, wanted.terminal), talk }
  })

export const showHistory = (wanted: PriceFlags, model: string, page: Record<string, string>): Promise<CommandOutput> =>
  inStore(wanted, async prices => {
    const answer = await prices.history(model, page)
    if (wanted.json) return asJson(answer)
    const talk = answer.next === null ? [] : [`there may be more: --after ${answer.next}`]
    return { data: historyTable(answer.data, wanted.terminal), talk }
  })

const DRY = 'nothing was changed: this was a dry run'

export const setPrice = (
  wanted: PriceFlags,
  model: string,
  assignments: readonly string[],
  { dry, force }: { dry: boolean; force: boolean },
): Promise<CommandOutput> =>
  withStoreOf(wanted.config, process.env, async (store, config) => {
    const terms = { config, accept: [], force }
    const paths = readAssignments(assignments)
    const { changes, warnings } = await new Prices({ store }).set(model, paths, COMMAND, terms, dry)
    if (wanted.json) return asJson({ model, changes, ...(warnings.length === 0 ? {} : { warnings }) })
    const same = Object.keys(changes).length === 0 ? [`${model} has this price already`] : []
    const talk = [...warned(warnings), ...same, ...(dry ? [DRY] : [])]
    return { data: changesTable([{ model, changes }], wanted.terminal), talk }
  })

const warned = (lines: readonly string[]): string[] => lines.map(line => `warning: ${line}`)

/** `input=21` sets a price, `input=` takes it away. */
function readAssignments(assignments: readonly string[]): Map<string, string | null> {
  const pairs = assignments.map((text): [string, string | null] => {
    const at = text.indexOf('=')
    if (at < 1)
      throw new OperationError('invalid', `${text}: expected PRICE=AMOUNT, like input=21 or over.200000.output=157.5`)
    return [text.slice(0, at), text.slice(at + 1) || null]
  })
  return new Map(pairs)
}

const NONE = '-'

const changesTable = (rows: readonly { model: string; changes: PriceChanges }[], terminal: boolean): string => {
  const columns = [
    { name: 'model' },
    { name: 'price' },
    { name: 'before', right: true },
    { name: 'after', right: true },
  ]
  const lines = rows.flatMap(({ model, changes }) =>
    Object.entries(changes).map(([path, { before, after }]) => [model, path, before ?? NONE, after ?? NONE]),
  )
  return lines.length === 0 ? '' : table(columns, lines, terminal)
}

export interface ImportFlags extends Omit<ImportOptions, 'rate'> {
  format: ListFormat | null
  /** null = not given. A list in CNY needs none. */
  rate: string | null
  dry: boolean
  /** Takes what the rules of sense refuse. */
  force: boolean
}

export const importPrices = (wanted: PriceFlags, file: string, flags: ImportFlags): Promise<CommandOutput> =>
  withStoreOf(wanted.config, process.env, async (store, config) => {
    const format = flags.format ?? formatOf(file)
    if (flags.rate === null && format === 'litellm')
      throw new OperationError('invalid', '--rate: expected how many CNY one USD is, because the list is in USD')
    const list = { text: readList(file), file, format }
    const planned = await planImport(store, list, { ...flags, rate: flags.rate ?? '1' })
    const warnings = await judgeImport(store, planned, { config, accept: [], force: flags.force })
    if (!flags.dry) await runImport(store, planned, COMMAND)
    if (wanted.json)
      return asJson({
        models: planned.map(({ price: _, limits: __, row: ___, ...rest }) => rest),
        ...(warnings.length === 0 ? {} : { warnings }),
      })
    const talk = [...planned.flatMap(notesOf), ...warned(warnings), totals(planned), ...(flags.dry ? [DRY] : [])]
    return { data: changesTable(planned, wanted.terminal), talk }
  })

function formatOf(file: string): ListFormat {
  if (/\.csv$/i.test(file)) return 'csv'
  return /\.ya?ml$/i.test(file) ? 'gateway' : 'litellm'
}

function readList(file: string): string {
  if (statSync(file).size > MOST_BYTES) throw new ConfigError([`${basename(file)}: expected a file of at most 20 MiB`])
  const bytes = readFileSync(file)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ConfigError([`${basename(file)}: expected text in UTF-8`])
  }
}

/** The first note of a skipped model says why. */
const notesOf = ({ model, outcome, notes }: Planned): string[] =>
  outcome === 'absent'
    ? []
    : notes.map((note, i) => `${model}: ${outcome === 'skipped' && i === 0 ? 'skipped' : 'not imported'}: ${note}`)

const SAYS: [outcome: Planned['outcome'], text: string][] = [
  ['new', 'made'],
  ['changed', 'changed'],
  ['same', 'as before'],
  ['skipped', 'skipped'],
  ['absent', 'not in the catalogue'],
]

const totals = (planned: readonly Planned[]): string =>
  `models: ${SAYS.map(([outcome, text]) => `${planned.filter(row => row.outcome === outcome).length} ${text}`).join(', ')}`

interface VersionShown {
  version: number
  at: string
  until: string | null
  actor: string
  price: object
}

const SHOWN = ['input', 'output', 'cache_read']

/**
 * Sums up, in one cell, the prices that have no column of their own. An entry of `over` is one word, however many prices it has,
 * and so are all sizes of pictures, and all tiers.
 */
const summary = (flat: ReadonlyMap<string, string>): string => {
  const words = [...flat].flatMap(([path, amount]) => {
    if (SHOWN.includes(path)) return []
    const [first, second] = path.split('.')
    return first === 'over' ? `over ${second}` : second === undefined ? `${first} ${amount}` : first!
  })
  return [...new Set(words)].join(', ')
}

export function listTable(rows: readonly (VersionShown & { model: string })[], terminal: boolean): string {
  const columns = [
    { name: 'model' },
    { name: 'version', right: true },
    ...SHOWN.map(name => ({ name: name.replace('_', ' '), right: true })),
    { name: 'others' },
  ]
  const lines = rows.map(({ model, version, price }) => {
    const flat = flatShown(price)
    return [model, String(version), ...SHOWN.map(name => flat.get(name) ?? NONE), summary(flat)]
  })
  return table(columns, lines, terminal)
}

const TOKENS = 'per million tokens'
const UNITS: Record<string, string> = {
  image: 'per picture',
  web_search: 'per search',
  maps: 'per call of maps',
  container: 'per container',
  code_execution: 'per request that ran code',
  tools: 'per call',
  request: 'per request',
  second: 'per second',
  character: 'per million characters',
  tiers: 'times the prices of tokens',
  search_unit: '',
}

function unitOf(path: string): string {
  const steps = path.split('.')
  const over = steps[0] === 'over'
  const unit = UNITS[over ? steps[2]! : steps[0]!] ?? TOKENS
  return over ? `${unit}, prompts above ${steps[1]} tokens` : unit
}

export function oneTable(price: object, terminal: boolean): string {
  const columns = [{ name: 'price' }, { name: 'CNY', right: true }, { name: 'unit' }]
  const lines = [...flatShown(price)].map(([path, amount]) => [path, amount, unitOf(path)])
  return table(columns, lines, terminal)
}

/** Makes the table of a model's versions. Each shows what it changed in the version before it; the oldest shows all its prices. */
export function historyTable(versions: readonly VersionShown[], terminal: boolean): string {
  const columns = [
    { name: 'version', right: true },
    { name: 'since' },
    { name: 'until' },
    { name: 'by' },
    { name: 'price' },
  ]
  const lines = versions.map(({ version, at, until, actor, price }, i) => {
    const before = versions[i + 1] === undefined ? new Map<string, string>() : flatShown(versions[i + 1]!.price)
    const now = flatShown(price)
    const set = [...now].filter(([path, amount]) => before.get(path) !== amount)
    const gone = [...before.keys()].filter(path => !now.has(path)).map(path => `no ${path}`)
    const changes = [...set.map(([path, amount]) => `${path} ${amount}`), ...gone]
    return [String(version), at, until ?? NONE, actor, changes.join(', ')]
  })
  return table(columns, lines, terminal)
}
