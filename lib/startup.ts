/** What a gateway does the same with one process and with several: the ops listener, signals. */
import { systemClock } from './base/clock.ts'
import { idMaker } from './base/ids.ts'
import { listenOn } from './gateway.ts'
import type { Fleet } from './ops/fleet.ts'
import { createOpsServer } from './ops/server.ts'
import type { Store } from './store/store.ts'
import { type Config, ConfigError, type Listener } from './terms/config.ts'
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

export const addressOf = (at: Listener): string =>
  `http://${at.host.includes(':') ? `[${at.host}]` : at.host}:${at.port}`

/** Metrics, health and admin. Returns how to close it. */
export async function openOps(config: Config, log: Logger, store: Store, fleet: Fleet): Promise<() => Promise<void>> {
  const server = createOpsServer({
    store,
    token: config.adminToken as string,
    clock: systemClock,
    log,
    ids: idMaker(systemClock.now),
    fleet,
  })
  await listenOn(server, config.listen.ops)
  return () =>
    new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
}

/** SIGHUP reloads: whatever is wrong with the new files changes nothing. SIGTERM and SIGINT drain; a second one does not wait. */
export function onSignals(log: Logger, acts: { reload(): Promise<void>; stop(): Promise<void> }): void {
  let reloading = Promise.resolve()
  let stopping = false
  process.on('SIGHUP', () => {
    reloading = reloading.then(async () => {
      try {
        await acts.reload()
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
