/** How the commands about prices lay out their tables. */
import { flatShown } from '../operations/catalogue/prices.ts'
import { table } from './table.ts'

interface VersionShown {
  version: number
  at: string
  until: string | null
  actor: string
  price: object
}

const NONE = '-'
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
