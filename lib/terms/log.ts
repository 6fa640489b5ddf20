import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

/** Structured logs to standard output, one JSON object a line, without pid and host, which the collector knows. */
export function createLogger(
  level: string,
  destination: DestinationStream = pino.destination({ sync: false, minLength: 0 }),
): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: label => ({ level: label }) } },
    destination,
  )
}
