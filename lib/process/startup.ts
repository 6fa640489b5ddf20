/** What is the same for a gateway of one process and of several: the ops listener, signals. */
import { isDeepStrictEqual } from 'node:util'
import { systemClock } from '../base/clock.ts'
import { idMaker } from '../base/ids.ts'
import { countAside } from '../ledger/aside.ts'
import type { Fleet } from '../ops/fleet.ts'
import { createOpsServer } from '../ops/server.ts'
import type { Store } from '../store/store.ts'
import { type Config, ConfigError, loadConfig } from '../terms/config.ts'
import { announce, type Logger } from '../terms/log.ts'
import type { Metrics } from '../terms/metrics.ts'
import { listenOn, underSupervision } from './listening.ts'

/** A process with a successor may take its time: long answers end by themselves. */
export const PATIENT_DRAIN_MS = 24 * 3600_000

export interface ServeOptions {
  configFile: string
  env: NodeJS.ProcessEnv
}

/** What there is before anything listens. */
export interface ServeParts {
  config: Config
  options: ServeOptions
  log: Logger
  metrics: Metrics
  store: Store
}

export interface Ops {
  /** The one it has, also where the config leaves the port open. */
  address: string
  /** A new config is in force. */
  follow(config: Config): void
  /** No new connections: another process answers them. */
  leave(): void
  close(): Promise<void>
}

/** Metrics, health and admin. */
export async function openOps(config: Config, log: Logger, store: Store, fleet: Fleet): Promise<Ops> {
  let token = config.adminToken as string
  const server = createOpsServer({
    store,
    token: () => token,
    clock: systemClock,
    log,
    ids: idMaker(systemClock.now),
    fleet,
    setAside: () => countAside(config.journal),
  })
  const address = await listenOn(server, 'ops', config.listen.ops)
  return {
    address,
    follow(next) {
      token = next.adminToken ?? token
    },
    leave: () => void server.close(),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** What a running gateway cannot change, by its name in the file: money would be in two places, or work with nobody. */
const READ_AT_START = {
  store: 'store',
  secret: 'secret',
  secret_previous: 'secretPrevious',
  journal: 'journal',
  journal_limit: 'journalLimitBytes',
  listen: 'listen',
  workers: 'workers',
} as const satisfies Record<string, keyof Config>

/** The config of a reload: as the file says now, but for what is read at start only, which stays and is named. */
export function reloadedConfig(now: Config, { configFile, env }: ServeOptions, log: Logger): Config {
  const next = loadConfig(configFile, env)
  const settings = Object.entries(READ_AT_START)
    .filter(([, key]) => !isDeepStrictEqual(next[key], now[key]))
    .map(([name]) => name)
  if (settings.length > 0) log.warn({ settings }, 'read at start only: these stay as they were until a restart')
  const kept = Object.fromEntries(Object.values(READ_AT_START).map(key => [key, now[key]]))
  return { ...next, ...kept }
}

interface Acts {
  reload(): Promise<Config>
  /** Ends within the config's `timeouts.drain`; `retire`: another process serves, so it may take its time. */
  stop(): Promise<void>
  retire(): Promise<void>
}

/**
 * SIGHUP reloads: whatever is wrong with the new files changes nothing. SIGTERM and SIGINT drain; a second one does not
 * wait. `addresses`: said when all of this is heard.
 */
export function run(log: Logger, addresses: object, acts: Acts): void {
  let reloading = Promise.resolve()
  let stopping = false
  process.on('SIGHUP', () => {
    reloading = reloading.then(async () => {
      try {
        const next = await acts.reload()
        log.level = next.log.level
        log.info('reloaded')
      } catch (error) {
        log.error(
          { err: error instanceof ConfigError ? error.message : error },
          'reload refused: everything stays as it was',
        )
      }
    })
  })
  const stop = (signal: string) => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'draining')
    end(acts.stop())
  }
  const end = (ended: Promise<void>) =>
    ended.then(
      () => {
        log.info('stopped')
        log.flush(() => process.exit(0))
      },
      error => {
        log.fatal({ err: error }, 'stopping failed')
        log.flush(() => process.exit(1))
      },
    )
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  announce(log, addresses, 'ready')
  underSupervision(() => {
    log.info('another process serves: draining')
    end(acts.retire())
  })
}
