/** What sense says of files, as `check` asks it: each line of what is refused and warned of. */
import type { Clock } from '../../lib/base/clock.ts'
import { judgeFile, findingLines } from '../../lib/operations/catalogue/judging.ts'
import type { Machine } from '../../lib/sense/sense.ts'
import { type CatalogFile, parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { type Config, ConfigError, openText } from '../../lib/config/config.ts'

export interface Said {
  refused: string[]
  warned: string[]
}

/** 2030 */
export const CLOCK: Pick<Clock, 'now'> = { now: () => Date.UTC(2030, 0, 1) }

/** A machine on which every folder is there but those that are named. */
export const machine = (missing: RegExp = /^$/): Machine => ({
  isFolder: path => !missing.test(path),
  openFiles: 1_048_576,
  cores: 4,
})

/** Of a catalogue file alone. */
export function sayOfCatalog(file: CatalogFile, config: Config | null = null): string[] {
  const terms = { config, configBefore: null, machine: null, clock: CLOCK, force: false }
  const { refused, warned } = judgeFile(file, null, file, terms)
  return [...findingLines(refused, file), ...findingLines(warned, file)]
}

/** Of a config and the catalogue beside it, in the order of the rules; what the schema refuses is refused too. */
export function sayOf(gateway: string, catalog: string, of: Machine = machine(), force = false): Said {
  try {
    const config = openText(gateway, 'gateway.yaml', {})
    const file = parseCatalog(catalog, 'catalog.yaml', {})
    file.checkReferences({ accounts: [], groups: [] })
    const terms = { config: config.config, configBefore: null, machine: of, clock: CLOCK, force }
    const { refused, warned } = judgeFile(file, null, file, terms)
    const lines = (findings: typeof refused) => [
      ...config.tell(findings),
      ...file.tell(findings.filter(({ row, ofCatalog }) => row !== null || ofCatalog === true)),
    ]
    return { refused: lines(refused), warned: lines(warned) }
  } catch (error) {
    if (error instanceof ConfigError) return { refused: [...error.problems], warned: [] }
    throw error
  }
}
