/**
 * What a process of the gateway prepares before it serves, and again at a reload: the store and what is in it, and the config that
 * a running gateway can take.
 */
import { preparePictures } from './data-paths.ts'
import { isDeepStrictEqual } from 'node:util'
import { systemClock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { loadCatalog } from '../catalog-file/catalog.ts'
import { type Config, ConfigError, loadConfig } from '../config/config.ts'
import { applyWithSense } from '../operations/catalogue/apply.ts'
import { thisMachine } from '../sense/machine.ts'
import { openStore, type Store } from '../store/store.ts'
import type { Metrics } from '../terms/metrics.ts'

/** Kept, because a reload reads the file again, with the variables of the same environment. */
export interface ServeOptions {
  configFile: string
  env: NodeJS.ProcessEnv
}

export interface ServeParts {
  config: Config
  options: ServeOptions
  log: Logger
  metrics: Metrics
  store: Store
}

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
 * ConfigError, also for what the rules of sense refuse and is not in force already. Returns the names of rows that the catalogue file
 * has made or changed, by their kinds.
 */
export async function prepareStore(
  store: Store,
  config: Config,
  env: NodeJS.ProcessEnv,
  log: Logger,
  before: Config | null = null,
): Promise<Record<string, string[]>> {
  if (config.migrateOnStart || config.store.startsWith('sqlite:')) await store.migrate()
  else {
    await store.wantSchema()
    await store.prove()
  }
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
  const written = Object.entries(summary ?? {}).map(([kind, { created, updated }]): [string, string[]] => [
    kind,
    [...created, ...updated],
  ])
  return Object.fromEntries(written.filter(([, names]) => names.length > 0))
}

/**
 * Settings that are read only when a process starts, by their names in the file. If a running gateway changed its store
 * or journal, some charges would be in the old one and some in the new. A change of `zone` would give caps two purses
 * at once.
 */
const READ_AT_START = {
  store: 'store',
  secret: 'secret',
  secret_previous: 'secretPrevious',
  journal: 'journal',
  journal_limit: 'journalLimitBytes',
  listen: 'listen',
  workers: 'workers',
  zone: 'zone',
  export_rate: 'exportBytesPerS',
} as const satisfies Record<string, keyof Config>

/**
 * Settings that are read at start only keep their value, and a warning names those that the file changes. Throws
 * ConfigError, also when the folder of pictures cannot be made.
 */
export function reloadedConfig(now: Config, { configFile, env }: ServeOptions, log: Logger): Config {
  const next = loadConfig(configFile, env)
  const settings = Object.entries(READ_AT_START)
    .filter(([, key]) => !isDeepStrictEqual(next[key], now[key]))
    .map(([name]) => name)
  if (settings.length > 0) log.warn({ settings }, 'read at start only: these stay as they were until a restart')
  noteAnnouncements(now, next, log)
  preparePictures(next, configFile)
  const kept = Object.fromEntries(Object.values(READ_AT_START).map(key => [key, now[key]]))
  const simulated = now.payer === null ? {} : { pay: now.pay, payer: now.payer }
  const registers = now.mailbox === null ? {} : { registration: now.registration, smtp: now.smtp, mailbox: now.mailbox }
  return { ...next, ...kept, ...simulated, ...registers, ownSecret: now.ownSecret }
}

/** What a reload has brought: the config in force, the names of settings that are others now, and rows that the catalogue file wrote. */
export interface Reloaded {
  config: Config
  settings: string[]
  rows: Record<string, string[]>
}

/** Reads config and catalogue again, and brings the store up to date with them. The config is not in force yet. Throws as these do. */
export async function reread(now: Config, { options, log, store }: ServeParts): Promise<Reloaded> {
  const config = reloadedConfig(now, options, log)
  const rows = await prepareStore(store, config, options.env, log, now)
  return { config, settings: changedSettings(now, config), rows }
}

/** Values are not told: some are secrets. */
const changedSettings = (now: Config, next: Config): string[] =>
  (Object.keys(next) as (keyof Config)[]).filter(key => !isDeepStrictEqual(next[key], now[key])).map(settingOf)

/** The name of a setting in the file, which has its unit in the value. */
export const settingOf = (key: keyof Config): string =>
  key.replace(/Ms$/, '').replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** What readers of all pages are told is for the log, too. */
function noteAnnouncements(now: Config, next: Config, log: Logger): void {
  const [before, after] = [now, next].map(({ site }) => site.announcements.map(({ text }) => text.en)) as [
    string[],
    string[],
  ]
  const added = after.filter(text => !before.includes(text))
  const removed = before.filter(text => !after.includes(text))
  if (added.length + removed.length > 0) log.info({ added, removed }, 'the announcements have changed')
}
