/**
 * `gateway check`: validates the config file and the catalogue that it names, and warns of what is probably a mistake.
 */
import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { judgeFile, findingLines, type Rows } from '../operations/catalogue/judging.ts'
import { payWarnings } from '../pay/methods.ts'
import { pictureWarnings } from '../process/data-paths.ts'
import { thisMachine } from '../sense/machine.ts'
import { openStore } from '../store/store.ts'
import { type CatalogFile, loadCatalog, searchWarnings } from '../catalog-file/catalog.ts'
import { type Config, type ConfigFile, openConfig, peopleWarnings } from '../config/config.ts'

interface Checked {
  /** What was read, as one line for people. */
  text: string
  /** What the gateway can use although it is probably a mistake. */
  warnings: string[]
  /** What the gateway could use, but the rules of sense refuse. */
  refused: string[]
}

/** Throws ConfigError with all problems of the file that has some. `force`: what the rules of sense would refuse becomes a warning. */
export async function check(configFile: string, env: NodeJS.ProcessEnv, force = false): Promise<Checked> {
  const file = openConfig(configFile, env)
  const { config } = file
  const catalog = config.catalog === null ? null : loadCatalog(config.catalog, env)
  catalog?.checkReferences({ accounts: [], groups: [] })
  const store = await inStore(config)
  const sense = senseOf(file, catalog, store.rows, force)
  const warnings = [...sense.warnings, ...pictureWarnings(config), ...peopleWarnings(config)]
  warnings.push(...(await payWarnings(config, systemClock)), ...store.warnings)
  if (catalog !== null) warnings.push(...searchWarnings(catalog))
  const of = catalog === null ? '' : `, catalogue ${config.catalog}: ${contents(catalog)}`
  return { text: `ok: ${configFile}${of}`, warnings, refused: sense.refused }
}

/** `before`: the rows of the store, which are in force; null = there is none yet. */
function senseOf(file: ConfigFile, catalog: CatalogFile | null, before: Rows | null, force: boolean) {
  const { config } = file
  const rows = catalog ?? { groups: [], models: [], channels: [] }
  const terms = {
    config,
    configBefore: null,
    machine: thisMachine(),
    clock: systemClock,
    force,
  }
  const { refused, warned } = judgeFile(catalog, before, rows, terms)
  const both = (findings: typeof warned): string[] => {
    const ofCatalog = findings.filter(({ row, ofCatalog }) => row !== null || ofCatalog === true)
    return [...file.tell(findings), ...findingLines(ofCatalog, catalog)]
  }
  return { refused: both(refused), warnings: both(warned) }
}

const contents = (catalog: CatalogFile): string =>
  (['groups', 'models', 'channels', 'accounts', 'keys'] as const)
    .map(kind => (catalog[kind].length === 1 ? `1 ${kind.slice(0, -1)}` : `${catalog[kind].length} ${kind}`))
    .join(', ')

/**
 * The rows that the store has, and its warnings when it reads them: channels whose secrets cannot be decrypted. `check` must
 * also work on a machine that cannot reach the store, so a store that does not answer or does not exist yet has neither.
 */
async function inStore(config: Config): Promise<{ rows: Rows | null; warnings: string[] }> {
  const file = /^sqlite:(.+)/.exec(config.store)?.[1]
  if (file !== undefined && !existsSync(file)) return { rows: null, warnings: [] }
  const warnings: string[] = []
  const { secret, secretPrevious } = config
  const onWarning = (text: string) => void warnings.push(`store: ${text}`)
  const store = openStore(config.store, { secret, secretPrevious, isWaitedFor: true, onWarning })
  try {
    return { rows: await store.catalogue.read(), warnings }
  } catch {
    return { rows: null, warnings: [] }
  } finally {
    await store.close()
  }
}
