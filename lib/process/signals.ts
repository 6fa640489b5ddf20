/**
 * What a gateway does on signals, be it one process or a primary with workers. SIGHUP reloads; when something is wrong
 * with the new files, nothing changes. SIGTERM and SIGINT drain and end the process; a second one ends it at once. The
 * supervisor's `retire` drains too, but leaves long answers their time.
 */
import { type Config, ConfigError } from '../config/config.ts'
import { announce, type Logger } from '../base/log.ts'
import { underSupervision } from './listening.ts'

/** How long a process may drain when another one serves already. */
export const PATIENT_DRAIN_MS = 24 * 3600_000

interface Acts {
  /** Resolves with the config that is in force then. */
  reload(): Promise<Config>
  /** Drains within the `timeouts.drain` of the config. */
  stop(): Promise<void>
  /** Drains within `PATIENT_DRAIN_MS`, because another process serves. */
  retire(): Promise<void>
}

/** Listens for signals, then logs `ready` with the addresses. */
export function run(log: Logger, addresses: object, acts: Acts): void {
  let reloading = Promise.resolve()
  let stopping = false
  process.on('SIGHUP', () => {
    reloading = reloading.then(() => reload(log, acts))
  })
  const stop = (signal: string) => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'draining')
    end(log, acts.stop())
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  announce(log, addresses, 'ready')
  underSupervision(() => {
    log.info('another process serves: draining')
    end(log, acts.retire())
  })
}

async function reload(log: Logger, acts: Acts): Promise<void> {
  try {
    const next = await acts.reload()
    log.level = next.log.level
    log.info('reloaded')
  } catch (error) {
    const err = error instanceof ConfigError ? error.message : error
    log.error({ err }, 'reload refused: everything stays as it was')
  }
}

function end(log: Logger, drained: Promise<void>): void {
  drained.then(
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
