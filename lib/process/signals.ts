/**
 * What a gateway does on signals, be it one process or a primary with workers. SIGHUP reloads; when something is wrong
 * with the new files, nothing changes. SIGTERM and SIGINT drain and end the process; a second one ends it at once. The
 * supervisor's `retire` drains too, but leaves long answers their time.
 */
import { actOnSignals } from './listening.ts'
import type { Reloaded } from './prepare.ts'
import { systemClock } from '../base/clock.ts'
import { type Logger, announce } from '../base/log.ts'
import { ConfigError } from '../config/config.ts'
import type { Readiness } from '../admin/server.ts'
import type { Metrics } from '../terms/metrics.ts'

/** How long a process may drain when another one serves already. */
export const PATIENT_DRAIN_MS = 24 * 3600_000

export interface Acts {
  /** Resolves when what was read is in force. */
  reload(): Promise<Reloaded>
  /** Drains within the `timeouts.drain` of the config. */
  stop(): Promise<void>
  /** Drains within `PATIENT_DRAIN_MS`, because another process serves. */
  retire(): Promise<void>
}

/** Listens for signals, then logs `ready` with the addresses. */
export function runUntilSignal(log: Logger, metrics: Metrics, addresses: object, acts: Acts): void {
  let reloading = Promise.resolve()
  let stopping = false
  metrics.configRead(systemClock.now())
  actOnSignals({
    reload() {
      reloading = reloading.then(() => reload(log, metrics, acts))
    },
    stop(signal) {
      if (stopping) process.exit(1)
      stopping = true
      log.info({ signal }, 'draining')
      return ended(log, acts.stop())
    },
    retire() {
      log.info('another process serves: draining')
      return ended(log, acts.retire())
    },
  })
  announce(log, addresses, 'ready')
}

async function reload(log: Logger, metrics: Metrics, acts: Acts): Promise<void> {
  try {
    const { config, settings, rows } = await acts.reload()
    log.level = config.log.level
    metrics.configRead(systemClock.now())
    log.info({ settings, rows }, 'reloaded')
  } catch (error) {
    metrics.reloadRefused()
    const err = error instanceof ConfigError ? error.message : error
    log.error({ err }, 'reload refused: everything stays as it was')
  }
}

/** Resolves with the code of the process's end when all that it has logged is written. */
async function ended(log: Logger, drained: Promise<void>): Promise<number> {
  let code = 0
  try {
    await drained
    log.info('stopped')
  } catch (error) {
    code = 1
    log.fatal({ err: error }, 'stopping failed')
  }
  await new Promise(resolve => log.flush(resolve))
  return code
}

/**
 * The time between the signal to end and the moment from which new connections are refused. `/readyz` says 503 all the while, so
 * that balancers send new requests to other gateways before they would be refused here.
 */
export class Leaving {
  #leaving = false

  /** Makes `ready` say that this gateway leaves, once it does. */
  over(ready: () => Promise<Readiness>): () => Promise<Readiness> {
    return async () => {
      const state = await ready()
      return this.#leaving && state.ready ? { ready: false, store: state.store, reason: 'leaving' } : state
    }
  }

  /** Resolves when everybody has had time to see it. */
  async leave(ms: number): Promise<void> {
    this.#leaving = true
    // a timer of Node's own, because the process must live until it has drained
    if (ms > 0) await new Promise(resolve => setTimeout(resolve, ms))
  }
}
