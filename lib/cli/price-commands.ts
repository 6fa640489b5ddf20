/** `gateway prices import`: it opens the store that the config names, and ends. Returns what to print. */
import { type CommandOutput, DRY } from './output.ts'
import { tableOfChanges } from './price-tables.ts'
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
  readImport,
  runImport,
} from '../operations/catalogue/price-import.ts'
import { OperationError } from '../operations/error.ts'

export interface PriceFlags {
  config: string
  json: boolean
  terminal: boolean
}

const MOST_BYTES = 20 * 1024 * 1024

const asJson = (value: object): CommandOutput => ({ data: `${JSON.stringify(value)}\n`, talk: [] })

const warned = (lines: readonly string[]): string[] => lines.map(line => `warning: ${line}`)

export interface ImportFlags extends Omit<ImportOptions, 'rate'> {
  format: ListFormat | null
  /** null = not given. A list in CNY needs none. */
  rate: string | null
  dry: boolean
  /** Takes what the rules of sense refuse. */
  force: boolean
}

export async function importPrices(wanted: PriceFlags, file: string, flags: ImportFlags): Promise<CommandOutput> {
  const format = flags.format ?? formatOf(file)
  if (flags.rate === null && format === 'litellm')
    throw new OperationError('invalid', '--rate: expected how many CNY one USD is, because the list is in USD')
  const list = readImport({ text: readList(file), file, format }, { ...flags, rate: flags.rate ?? '1' })
  return withStoreOf(wanted.config, process.env, async (store, config) => {
    const planned = await planImport(store, list)
    const warnings = await judgeImport(store, planned, { config, accept: [], force: flags.force })
    if (!flags.dry) await runImport(store, planned, COMMAND)
    if (wanted.json)
      return asJson({
        models: planned.map(({ price: _, limits: __, row: ___, ...rest }) => rest),
        ...(warnings.length === 0 ? {} : { warnings }),
      })
    const talk = [...planned.flatMap(notesOf), ...warned(warnings), totals(planned), ...(flags.dry ? [DRY] : [])]
    return { data: tableOfChanges(planned, wanted.terminal), talk }
  })
}

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
