import { type DestinationStream, type Logger, pino } from 'pino'
import { LogOutput } from './log-output.ts'

export type { Logger }

/** Structured logs to standard output, one JSON object a line, without pid and host, which the collector knows. */
export function createLogger(level: string, destination: DestinationStream = new LogOutput()): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: label => ({ level: label }) } },
    destination,
  )
}

/**
 * A line of level `info` that is written already: its members between the braces, after level and time. For the one line
 * of every request, which costs a third so.
 */
export function logLine(log: Logger, nowMs: number, members: string): void {
  if (!log.isLevelEnabled('info')) return
  outputOf(log).write(`{"level":"info","time":"${isoTime(nowMs)}",${members},"msg":"request"}\n`)
}

/** A line for whoever started the process and waits for it: whatever the level, and not with what comes behind it. */
export function announce(log: Logger, members: object, msg: string): void {
  log.child({}, { level: 'info' }).info(members, msg)
  const output = outputOf(log)
  if (output instanceof LogOutput) output.handOn()
}

const outputOf = (log: Logger): DestinationStream =>
  (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym] as DestinationStream

let isoMs = -1
let isoText = ''

/** Made once a millisecond, which many lines may share. */
function isoTime(ms: number): string {
  if (ms !== isoMs) {
    isoMs = ms
    isoText = new Date(ms).toISOString()
  }
  return isoText
}

/** Longest text of a client's own that a line holds. */
const LONGEST_TEXT = 200
const LOOKED_AT = 4 * LONGEST_TEXT
/** How many times a key may be percent-encoded and still be found. */
const MOST_ESCAPES = 3
const MAY_HOLD_A_KEY = /sk-|key=|%/i
const KEYS = /(sk-|key=)[^/&;?#]*/gi

/** Text that a client wrote, for a JSON line: a key that stands in a path by mistake is taken out of it. */
export function quotedFromClient(text: string): string {
  if (text.length <= LONGEST_TEXT && !MAY_HOLD_A_KEY.test(text)) return quoted(text)
  let open = text.slice(0, LOOKED_AT)
  for (let i = 0; i < MOST_ESCAPES && open.includes('%'); i++)
    open = open.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  open = open.replace(KEYS, '$1…')
  return quoted(open.length <= LONGEST_TEXT ? open : `${open.slice(0, LONGEST_TEXT)}…`)
}

/** A text as it stands in JSON. */
export const quoted = (text: string): string => (/^[\w\-./: ]*$/.test(text) ? `"${text}"` : JSON.stringify(text))
