/**
 * Asks the rules of sense about changes of the catalogue before they are written: what a file says anew, and rows that a call
 * or a command sets.
 */
import type { Clock } from '../../base/clock.ts'
import {
  type Accepted,
  describe,
  HOW_TO_ACCEPT,
  judge,
  type Machine,
  NOTHING_SEEN,
  type Seen,
} from '../../sense/sense.ts'
import type { Store } from '../../store/store.ts'
import type { Catalog } from '../../store/catalogue/catalogue.ts'
import type { CatalogFile } from '../../catalog-file/catalog.ts'
import type { SenseFinding, RowName } from '../../config/yaml.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import { OperationError } from '../error.ts'

export type Rows = Pick<Catalog, 'groups' | 'models' | 'channels'>

/** Nobody reads more of a thousand findings. */
const MOST_LINES = 50

const shortened = (lines: readonly string[]): string[] =>
  lines.length <= MOST_LINES ? [...lines] : [...lines.slice(0, MOST_LINES), `and ${lines.length - MOST_LINES} more`]

/** Findings as lines: those of the file with their places in it. */
export function findingLines(findings: readonly SenseFinding[], file: Pick<CatalogFile, 'tell'> | null): string[] {
  const placed = file === null ? [] : findings.map(finding => ({ finding, lines: file.tell([finding]) }))
  const lines =
    file === null
      ? findings.map(describe)
      : placed.flatMap(one => (one.lines.length > 0 ? one.lines : describe(one.finding)))
  return shortened([...new Set(lines)])
}

/** Throws ConfigError with the lines of what is refused. */
export function throwRefused(lines: readonly string[]): void {
  if (lines.length > 0) throw new ConfigError([...lines, HOW_TO_ACCEPT])
}

export interface FileTerms {
  /** null = nothing is said of the config. */
  config: Config | null
  /** The config in force until now; null = there is none. */
  configBefore: Config | null
  machine: Machine | null
  clock: Pick<Clock, 'now'>
  force: boolean
}

/** What is in force, and what a file makes of it, with the rows of the file that only it has. */
export function judgeFile(file: CatalogFile | null, before: Rows | null, after: Rows, terms: FileTerms) {
  const { config, configBefore, machine, clock, force } = terms
  const of = { machine, nowMs: clock.now() }
  const accept: Accepted = { config: config?.accept ?? [], catalog: file?.accept ?? [] }
  return judge({
    before: before === null ? null : { ...NOTHING_SEEN, ...before, ...of, config: configBefore },
    after: {
      ...NOTHING_SEEN,
      ...after,
      ...of,
      config,
      accounts: file?.accounts ?? [],
      keys: file?.keys ?? [],
      file: file !== null && before === null,
    },
    accept,
    force,
  })
}

export interface ChangeTerms {
  config: Config | null
  /** Names of rules, as `accept` in a file has them. */
  accept: readonly string[]
  force: boolean
}

/**
 * Judges the rows `changed`, which `change` sets in those of the store. Returns what may be and is probably not meant, as
 * lines about these rows. Throws OperationError `invalid`, naming every rule by which it is refused.
 */
export async function judgeChange(
  store: Pick<Store, 'catalogue'>,
  { config, accept, force }: ChangeTerms,
  changed: readonly RowName[],
  change: (rows: Rows) => Partial<Rows>,
): Promise<string[]> {
  const { groups, models, channels } = await store.catalogue.read()
  const rows: Rows = { groups, models, channels }
  const before: Seen = { ...NOTHING_SEEN, config, ...rows }
  const after: Seen = { ...before, ...change(rows) }
  const { refused, warned } = judge({
    before,
    after,
    accept: { config: [...(config?.accept ?? []), ...accept], catalog: [] },
    force,
  })
  const isAbout = ({ row, others = [] }: SenseFinding): boolean =>
    [...(row === null ? [] : [row]), ...others].some(one =>
      changed.some(({ kind, name }) => one.kind === kind && one.name === name),
    )
  const said = (finding: SenseFinding): string =>
    changed.length === 1 ? withoutRow(finding, changed[0]!) : describe(finding)
  if (refused.length > 0) {
    const names = [...new Set(refused.map(({ rule }) => rule))]
    throw new OperationError(
      'invalid',
      `${shortened(refused.map(said)).join('; ')}; what is meant can be accepted: accept ${names.join(', ')}`,
    )
  }
  // what a row lacks that is written a moment later, such as the channel of a model, is no mistake yet
  return shortened(warned.filter(finding => isAbout(finding) && !INCOMPLETE.has(finding.rule)).map(said))
}

const INCOMPLETE: ReadonlySet<string> = new Set(['unserved', 'unpriced'])

/** A finding about the one row that is changed needs not name it. */
const withoutRow = (finding: SenseFinding, { kind, name }: RowName): string =>
  finding.row?.kind === kind && finding.row.name === name ? describe({ ...finding, row: null }) : describe(finding)

/** The list with a row set: in the place of the one of its name, or behind all others. */
export const withRow = <T extends { name: string }>(rows: readonly T[], row: T): T[] =>
  rows.some(({ name }) => name === row.name) ? rows.map(one => (one.name === row.name ? row : one)) : [...rows, row]
