/**
 * Opens the store for a process, with its statements counted in the metrics, and brings schema and catalogue up to
 * date.
 */
import { systemClock } from '../base/clock.ts'
import { applyWithSense } from '../operations/catalogue/apply.ts'
import { thisMachine } from '../sense/machine.ts'
import { openStore, type Store } from '../store/store.ts'
import { loadCatalog } from '../catalog/catalog.ts'
import { type Config, ConfigError } from '../config/config.ts'
import type { Logger } from '../base/log.ts'
import type { Metrics } from '../terms/metrics.ts'

export function openProcessStore(config: Config, metrics: Metrics, log: Logger): Store {
  return openStore(config.store, {
    secret: config.secret,
    secretPrevious: config.secretPrevious,
    zone: config.zone,
    exportBytesPerS: config.exportBytesPerS,
    onStatement: (op, ok) => metrics.storeStatement(op, ok),
    onWarning: message => log.warn(message),
  })
}

/** Second factors are sealed with the secret, and an admin token changes too easily to be it. */
async function wantSecret(store: Store, config: Config): Promise<void> {
  if (config.ownSecret || !(await store.people.users.any())) return
  throw new ConfigError([
    'secret: expected a secret of its own, because there are users in the store; found only the admin_token (to keep what is sealed, set `secret` to a new text and `secret_previous` to the admin token)',
  ])
}

/**
 * Brings the store up to date before a start or a reload serves from it. `before`: the config in force until now. Throws
 * ConfigError, also for what the rules of sense refuse and is not in force already.
 */
export async function prepareStore(
  store: Store,
  config: Config,
  env: NodeJS.ProcessEnv,
  log: Logger,
  before: Config | null = null,
): Promise<void> {
  if (config.migrateOnStart || config.store.startsWith('sqlite:')) await store.migrate()
  else await store.prove()
  await wantSecret(store, config)
  if (config.secretPrevious !== null) await store.reseal()
  const catalog = config.catalog === null ? null : loadCatalog(config.catalog, env)
  const terms = { config, configBefore: before, machine: thisMachine(), force: false }
  const { summary, warnings } = await applyWithSense(store, catalog, systemClock, terms)
  const kept = Object.entries(summary ?? {}).filter(([, rows]) => rows.kept.length > 0)
  if (kept.length > 0)
    log.info(
      { kept: Object.fromEntries(kept.map(([kind, rows]) => [kind, rows.kept])) },
      'these rows stay as they were changed in the store, because the catalogue file says nothing new about them (apply --force writes them)',
    )
  for (const warning of warnings) log.warn(warning)
}
