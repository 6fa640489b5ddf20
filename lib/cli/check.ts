/** `gateway check` */
import { existsSync } from 'node:fs'
import { openStore } from '../store/open.ts'
import { type CatalogFile, loadCatalog } from '../terms/catalog.ts'
import { type Config, loadConfig } from '../terms/config.ts'

interface Checked {
  /** What was read, for people. */
  text: string
  /** What can be used and is probably not meant. */
  warnings: string[]
}

/** Throws ConfigError with the problems of both files. */
export async function check(configFile: string, env: NodeJS.ProcessEnv): Promise<Checked> {
  const config = loadConfig(configFile, env)
  const catalog = config.catalog === null ? null : loadCatalog(config.catalog, env)
  catalog?.checkReferences({ accounts: [], groups: [] })
  const warnings = catalog?.warnings({ priced: [], served: [] }) ?? []
  warnings.push(...(await storeWarnings(config)))
  const of = catalog === null ? '' : `, catalogue ${config.catalog}: ${contents(catalog)}`
  return { text: `ok: ${configFile}${of}`, warnings }
}

const contents = (catalog: CatalogFile): string =>
  (['groups', 'models', 'channels', 'accounts', 'keys'] as const)
    .map(kind => (catalog[kind].length === 1 ? `1 ${kind.slice(0, -1)}` : `${catalog[kind].length} ${kind}`))
    .join(', ')

/**
 * What the store says when it reads its catalogue: channels whose secrets cannot be read. Files are checked where no store
 * is in reach too, so that one which does not answer, or is not made yet, says nothing.
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
