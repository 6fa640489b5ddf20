/** `gateway serve`: the store made ready, then one process or a primary with workers; signals; the ready line. */
import { systemClock } from './base/clock.ts'
import { idMaker } from './base/ids.ts'
import { Gateway, listenOn, openProcessStore } from './gateway.ts'
import type { Fleet } from './ops/fleet.ts'
import { createOpsServer } from './ops/server.ts'
import { applyCatalog } from './store/apply.ts'
import type { Store } from './store/store.ts'
import { loadCatalog } from './terms/catalog.ts'
import { type Config, ConfigError, loadConfig } from './terms/config.ts'
import { createLogger, type Logger } from './terms/log.ts'
import { formatMetrics, Metrics } from './terms/metrics.ts'
import { servePrimary } from './workers.ts'

export interface ServeOptions {
  configFile: string
  env: NodeJS.ProcessEnv
}

/** Resolves when the gateway is ready. It ends by signal. */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const log = createLogger(config.log.level)
  if (config.adminToken === null)
    throw new ConfigError(['admin_token: expected a token of 8 characters or more for the admin API, found none'])
  const metrics = new Metrics()
  const store = await openProcessStore(config, metrics, log)
  await prepareStore(store, config, options.env)
  if (config.workers > 1) await servePrimary(config, options, log, metrics, store)
  else await serveAlone(config, options, log, metrics, store)
}

/** Schema and catalogue as this config wants them. */
export async function prepareStore(store: Store, config: Config, env: NodeJS.ProcessEnv): Promise<void> {
  if (config.migrateOnStart || config.store.startsWith('sqlite:')) await store.migrate()
  if (config.catalog !== null) await applyCatalog(store, loadCatalog(config.catalog, env))
}

async function serveAlone(
  config: Config,
  options: ServeOptions,
  log: Logger,
  metrics: Metrics,
  store: Store,
): Promise<void> {
  const gateway = await Gateway.start(config, log, metrics, store)
  const fleet = fleetOfOne(gateway)
  const addresses = await gateway.listen()
  const closeOps = await openOps(config, log, store, fleet)
  onSignals(log, {
    async reload() {
      const next = loadConfig(options.configFile, options.env)
      await prepareStore(store, next, options.env)
      await gateway.reconfigure(next)
      await gateway.follow()
    },
    async stop() {
      await gateway.drain(gateway.config.timeouts.drainMs)
      await closeOps()
    },
  })
  log.info({ ...addresses, ops: address(config.listen.ops), workers: 1 }, 'ready')
}

function fleetOfOne(gateway: Gateway): Fleet {
  return {
    ready: () => gateway.ready(),
    metrics: async () => formatMetrics([await gateway.metrics.snapshot()]),
    held: async () => gateway.ledger.held(),
    holders: () => [gateway.ledger.holder],
    channelStates: async () => gateway.health.states(),
    changed: () => gateway.follow(),
  }
}

const address = (at: { host: string; port: number }): string =>
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
