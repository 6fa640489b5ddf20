/**
 * `gateway check`: validates the config file and the catalogue that it names, and warns of what is probably a mistake.
 */
import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { payWarnings } from '../pay/methods.ts'
import { pictureWarnings } from '../process/data-paths.ts'
import { openStore } from '../store/open.ts'
import { type CatalogFile, loadCatalog } from '../terms/catalog.ts'
import { type Config, loadConfig } from '../terms/config.ts'
import { peopleWarnings } from '../terms/config-people.ts'

interface Checked {
  /** What was read, as one line for people. */
  text: string
  /** What the gateway can use although it is probably a mistake. */
  warnings: string[]
}

/** Throws ConfigError with all problems of the file that has some. */
export async function check(configFile: string, env: NodeJS.ProcessEnv): Promise<Checked> {
  const config = loadConfig(configFile, env)
  const catalog = config.catalog === null ? null : loadCatalog(config.catalog, env)
  catalog?.checkReferences({ accounts: [], groups: [] })
  const warnings = catalog?.warnings({ priced: [], served: [], publicGroup: false }) ?? []
  warnings.push(...pictureWarnings(config), ...peopleWarnings(config))
  warnings.push(...(await payWarnings(config, systemClock)), ...(await storeWarnings(config)))
  const of = catalog === null ? '' : `, catalogue ${config.catalog}: ${contents(catalog)}`
  return { text: `ok: ${configFile}${of}`, warnings }
}

const contents = (catalog: CatalogFile): string =>
  (['groups', 'models', 'channels', 'accounts', 'keys'] as const)
    .map(kind => (catalog[kind].length === 1 ? `1 ${kind.slice(0, -1)}` : `${catalog[kind].length} ${kind}`))
    .join(', ')

/**
 * The warnings of the store when it reads its catalogue: channels whose secrets cannot be decrypted. `check` must also
 * work on a machine that cannot reach the store, so a store that does not answer or does not exist yet gives no
 * warnings.
 */
async function storeWarnings(config: Config): Promise<string[]> {
  const file = /^sqlite:(.+)/.exec(config.store)?.[1]
  if (file !== undefined && !existsSync(file)) return []
  const warnings: string[] = []
  const { secret, secretPrevious } = config
  const store = openStore(config.store, { secret, secretPrevious, onWarning: text => warnings.push(`store: ${text}`) })
  try {
    await store.catalog()
    return warnings
  } catch {
    return []
  } finally {
    await store.close()
  }
}
