/** What a gateway does the same with one process and with several: the ops listener, signals. */
import { systemClock } from './base/clock.ts'
import { idMaker } from './base/ids.ts'
import { listenOn } from './gateway.ts'
import type { Fleet } from './ops/fleet.ts'
import { createOpsServer } from './ops/server.ts'
import type { Store } from './store/store.ts'
import { type Config, ConfigError } from './terms/config.ts'
import type { Logger } from './terms/log.ts'
import type { Metrics } from './terms/metrics.ts'

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
  })
  const address = await listenOn(server, config.listen.ops)
  return {
    address,
    follow(next) {
      token = next.adminToken ?? token
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** SIGHUP reloads: whatever is wrong with the new files changes nothing. SIGTERM and SIGINT drain; a second one does not wait. */
export function onSignals(log: Logger, acts: { reload(): Promise<Config>; stop(): Promise<void> }): void {
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
    acts.stop().then(
      () => {
        log.info('stopped')
        log.flush(() => process.exit(0))
      },
      error => {
        log.fatal({ err: error }, 'stopping failed')
        log.flush(() => process.exit(1))
      },
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
}
