/** What people see of prices: tables of what models cost, of one price whole, of what changed. */
import { flatShown, type PriceChanges } from '../operations/catalogue/prices.ts'
import { type CommandOutput, DRY, table } from './output.ts'

const NONE = '-'

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

interface ListedPrices {
  data: readonly (VersionShown & { model: string })[]
}

export function listTable({ data }: ListedPrices, _: object, terminal: boolean): CommandOutput {
  const columns = [
    { name: 'model' },
    { name: 'version', right: true },
    ...SHOWN.map(name => ({ name: name.replace('_', ' '), right: true })),
    { name: 'others' },
  ]
  const lines = data.map(({ model, version, price }) => {
    const flat = flatShown(price)
    return [model, String(version), ...SHOWN.map(name => flat.get(name) ?? NONE), summary(flat)]
  })
  return { data: table(columns, lines, terminal), talk: [] }
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

interface Versions {
  /** The newest first. */
  data: readonly VersionShown[]
}

export function oneTable({ data }: Versions, { model }: { model?: string }, terminal: boolean): CommandOutput {
  const [newest] = data
  if (newest === undefined || newest.until !== null)
    return { data: '', talk: [`${model} has no price, so nobody can use it`] }
  const { version, at, actor, price } = newest
  const columns = [{ name: 'price' }, { name: 'CNY', right: true }, { name: 'unit' }]
  const lines = [...flatShown(price)].map(([path, amount]) => [path, amount, unitOf(path)])
  return { data: table(columns, lines, terminal), talk: [`${model}: version ${version}, since ${at}, by ${actor}`] }
}

/** Makes the table of a model's versions. Each shows what it changed in the version before it; the oldest shows all its prices. */
export function historyTable({ data: versions }: Versions, _: object, terminal: boolean): CommandOutput {
  const columns = [
    { name: 'version', right: true },
    { name: 'since', whole: true },
    { name: 'until', whole: true },
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
  return { data: table(columns, lines, terminal), talk: [] }
}

interface ChangedPrice {
  model: string
  changes: PriceChanges
}

export function changesTable({ model, changes }: ChangedPrice, asked: object, terminal: boolean): CommandOutput {
  const same = Object.keys(changes).length === 0 ? [`${model} has this price already`] : []
  const dry = 'dry_run' in asked ? [DRY] : []
  return { data: tableOfChanges([{ model, changes }], terminal), talk: [...same, ...dry] }
}

export function tableOfChanges(rows: readonly ChangedPrice[], terminal: boolean): string {
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
