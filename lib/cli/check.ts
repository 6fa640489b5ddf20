/** `gateway check` */
import { type CatalogFile, loadCatalog } from '../terms/catalog.ts'
import { loadConfig } from '../terms/config.ts'

/** What was read, for people. Throws ConfigError with the problems of both files. */
export function check(configFile: string, env: NodeJS.ProcessEnv): string {
  const config = loadConfig(configFile, env)
  if (config.catalog === null) return `ok: ${configFile}`
  const catalog = loadCatalog(config.catalog, env)
  catalog.checkReferences({ accounts: [], groups: [] })
  return `ok: ${configFile}, catalogue ${config.catalog}: ${contents(catalog)}`
}

const contents = (catalog: CatalogFile): string =>
  (['groups', 'models', 'channels', 'accounts', 'keys'] as const)
    .map(kind => (catalog[kind].length === 1 ? `1 ${kind.slice(0, -1)}` : `${catalog[kind].length} ${kind}`))
    .join(', ')
