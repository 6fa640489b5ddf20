/** The store for the time of one command. */
import { wantStore } from '../process/data-paths.ts'
import { openStore, type Store } from '../store/store.ts'
import { type Config, loadConfig } from '../config/config.ts'

export async function withStore<T>(config: Config, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore(config.store, {
    secret: config.secret,
    secretPrevious: config.secretPrevious,
    zone: config.zone,
    isWaitedFor: true,
    onWarning: message => console.error(`gateway: ${message}`),
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The store that a config names. It must be there, and have the schema of this program. */
export function withStoreOf<T>(
  configFile: string,
  env: NodeJS.ProcessEnv,
  work: (store: Store, config: Config) => Promise<T>,
): Promise<T> {
  const config = loadConfig(configFile, env)
  wantStore(config, configFile)
  return withStore(config, async store => {
    await store.wantSchema()
    return work(store, config)
  })
}

/** A command has no serving processes whose charges it could wait for. */
export const NOBODY = { settled: async () => {} }
