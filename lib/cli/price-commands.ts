/** `gateway prices import`: the list is read here, and the call is made on the store that the config names or sent to a gateway. */
import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import type { z } from 'zod'
import { ConfigError } from '../config/config.ts'
import {
  type importAnswer,
  importForm,
  type ListFormat,
  MOST_LIST,
  readSentList,
} from '../operations/catalogue/price-import.ts'
import { OperationError } from '../operations/error.ts'
import { read } from '../operations/read.ts'
import { callNamed, withCalls } from './calls.ts'
import { type CommandOutput, DRY } from './output.ts'
import { tableOfChanges } from './price-tables.ts'

type Imported = z.infer<typeof importAnswer>
type Planned = Imported['models'][number]

/** Where the prices go, and what is printed. */
export interface ImportFlags {
  config?: string
  url?: string
  json?: true
  format?: ListFormat
  rate?: string
  factor: string
  match?: string
  existing?: true
  free?: true
  dryRun?: true
  force?: true
}

export async function importPrices(file: string, flags: ImportFlags): Promise<CommandOutput> {
  const { config, url, json, dryRun: dry_run, ...options } = flags
  const sent = { text: readList(file), file, ...options, format: options.format ?? formatOf(file), dry_run }
  judgeList(sent)
  let imported: Imported = { models: [] }
  await withCalls({ url, config }, async make => {
    imported = (await make(callNamed('prices.import'), { path: {}, query: {}, body: sent })) as Imported
  })
  const { models, warnings = [] } = imported
  const dry = dry_run === true ? [DRY] : []
  if (json) return { data: `${JSON.stringify(imported)}\n`, talk: [] }
  const talk = [...models.flatMap(notesOf), ...warnings.map(line => `warning: ${line}`), totals(models), ...dry]
  return { data: tableOfChanges(models, process.stdout.isTTY), talk }
}

/** Throws what is wrong with the list or an option, before a store is opened or a gateway asked. */
function judgeList(sent: object): void {
  try {
    readSentList(read(importForm, sent))
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    throw new OperationError('invalid', `--${error.message}`)
  }
}

function formatOf(file: string): ListFormat {
  if (/\.csv$/i.test(file)) return 'csv'
  return /\.ya?ml$/i.test(file) ? 'gateway' : 'litellm'
}

function readList(file: string): string {
  if (statSync(file).size > MOST_LIST) throw new ConfigError([`${basename(file)}: expected a file of at most 20 MiB`])
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
