/** The config that a reload puts in force: the file as it is now, without the changes that only a restart can make. */
import { isDeepStrictEqual } from 'node:util'
import { type Config, loadConfig } from '../config/config.ts'
import type { Logger } from '../base/log.ts'
import { preparePictures } from './data-paths.ts'
import type { ServeOptions } from './serve-parts.ts'

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
  preparePictures(next, configFile)
  const kept = Object.fromEntries(Object.values(READ_AT_START).map(key => [key, now[key]]))
  return { ...next, ...kept, ownSecret: now.ownSecret }
}
