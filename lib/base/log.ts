/**
 * The log: structured lines through pino, one JSON object per line on standard output. The line of every request is written
 * as bytes by hand (`beginLine`), because that costs a third of what pino takes. Texts that come from clients are
 * shortened, and keys in them are masked.
 */
import { writeSync } from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'
import { SECOND_MS } from './clock.ts'
import { JsonBytes } from './json-bytes.ts'

export type { Logger }

/** Lines carry neither pid nor host, which the log collector knows. */
export function createLogger(level: string, destination: DestinationStream = new LogOutput()): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: label => ({ level: label }) } },
    destination,
  )
}

const END = Buffer.from(',"msg":"request"}\n')
/** The line that is being written: there is one at a time. */
const line = new JsonBytes(1024)

/**
 * Begins a line of level `info`, to which the caller adds members, each with a comma before it and the first without one. null = no such
 * line is written. `nowMs`: a whole number, since 1970.
 */
export function beginLine(log: Logger, nowMs: number): JsonBytes | null {
  if (!log.isLevelEnabled('info')) return null
  const s = Math.floor(nowMs / SECOND_MS)
  if (s !== begunS) {
    begunS = s
    begun = Buffer.from(`{"level":"info","time":"${new Date(nowMs).toISOString().slice(0, -4)}`)
  }
  line.length = 0
  line.copy(begun)
  line.raw(MILLISECONDS[nowMs - s * SECOND_MS] as string)
  return line
}

/** Writes the line that was begun. */
export function endLine(log: Logger): void {
  line.copy(END)
  const output = outputOf(log)
  if (output instanceof LogOutput) output.take(line)
  else output.write(line.bytes.toString('utf8', 0, line.length))
}

/**
 * Writes a line for whoever started the process and waits for it to be ready: at every log level, and at once instead
 * of together with later lines.
 */
export function announce(log: Logger, members: object, msg: string): void {
  log.child({}, { level: 'info' }).info(members, msg)
  const output = outputOf(log)
  if (output instanceof LogOutput) output.handOn()
}

const outputOf = (log: Logger): DestinationStream =>
  (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym] as DestinationStream

/** The beginning of a line, which those of the same second have in common. */
let begunS = -1
let begun = Buffer.alloc(0)
const MILLISECONDS = Array.from({ length: SECOND_MS }, (_, ms) => `${String(ms).padStart(3, '0')}Z",`)

/** The longest text from a client, in characters, that a line may contain. */
const LONGEST_TEXT = 200
/** How much of a client's text is searched for keys: percent-encoding makes it longer. */
const LOOKED_AT = 4 * LONGEST_TEXT
/** A key is found even when it was percent-encoded this many times. */
const MOST_ESCAPES = 3
const MAY_HOLD_A_KEY = /sk-|key=|%/i
const KEYS = /(sk-|key=)[^/&;?#]*/gi

/** A text from a client as a JSON string, shortened, and with any key masked that was put into a path by mistake. */
export function quotedFromClient(text: string): string {
  if (text.length <= LONGEST_TEXT && !MAY_HOLD_A_KEY.test(text)) return quoted(text)
  let open = text.slice(0, LOOKED_AT)
  for (let i = 0; i < MOST_ESCAPES && open.includes('%'); i++)
    open = open.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  open = open.replace(KEYS, '$1…')
  return quoted(open.length <= LONGEST_TEXT ? open : `${open.slice(0, LONGEST_TEXT)}…`)
}

/**
 * A text as a JSON string; most texts need no escaping, which the test finds out faster than `JSON.stringify` works.
 */
export const quoted = (text: string): string => (/^[\w\-./: ]*$/.test(text) ? `"${text}"` : JSON.stringify(text))

/** The longest that a line waits in the batch. */
const FLUSH_MS = 100
/** A batch of this many bytes is handed on at once. */
const FLUSH_BYTES = 64 * 1024
/** A character of a line takes at most so many bytes. */
const MOST_CHARACTER_BYTES = 3
const LINE_END = 0x0a
/** The most bytes that wait for a reader of standard output; lines beyond it are dropped. */
const MOST_BYTES = 64 * 1024 * 1024

/**
 * Writes log lines to standard output in batches. pino's own output (sonic-boom) walks through its queue for everything it is given, so
 * lines are collected here first and handed on together. They are collected as bytes: a text of many lines would be walked over, piece by
 * piece, when its pieces have left the processor's caches. The queue is bounded: when nobody reads standard output, lines are dropped and
 * counted, and the number is logged as soon as somebody reads again.
 */
export class LogOutput implements DestinationStream {
  readonly #out: ReturnType<typeof pino.destination>
  /** Lines from `#from` to `#to` wait here. What stands before them was handed on, and does not change any more. */
  #page = Buffer.alloc(0)
  #from = 0
  #to = 0
  #due: NodeJS.Timeout | null = null
  #dropped = 0

  /** `fd` is the file descriptor to write to; tests give that of a file. */
  constructor(fd = 1, mostBytes = MOST_BYTES) {
    this.#out = pino.destination({ fd, sync: false, maxLength: mostBytes, contentMode: 'buffer' } as object)
    this.#out.on('drop', (lines: Buffer) => {
      for (let at = -1; (at = lines.indexOf(LINE_END, at + 1)) >= 0; ) this.#dropped++
    })
    // prepended, because sonic-boom closes itself when the process has nothing more to do
    process.prependListener('beforeExit', () => this.handOn())
    process.prependListener('exit', () => this.#handOnNow(fd))
  }

  /** Writes everything synchronously: in the `exit` event, asynchronous writes would never be done. */
  #handOnNow(fd: number): void {
    try {
      if (!(this.#out as { destroyed?: boolean }).destroyed) this.#out.flushSync()
      writeSync(fd, this.#batch)
    } catch {
      // nobody reads standard output, and there is no other place to report it
    }
  }

  get #batch(): Buffer {
    return this.#page.subarray(this.#from, this.#to)
  }

  write(line: string): void {
    this.#want(line.length * MOST_CHARACTER_BYTES)
    this.#added(this.#page.write(line, this.#to))
  }

  /** Writes a line that is bytes already. */
  take({ bytes, length }: JsonBytes): void {
    this.#want(length)
    this.#added(bytes.copy(this.#page, this.#to, 0, length))
  }

  #added(bytes: number): void {
    this.#to += bytes
    if (this.#to - this.#from >= FLUSH_BYTES) this.handOn()
    else this.#due ??= setTimeout(() => this.handOn(), FLUSH_MS).unref()
  }

  #want(leastBytes: number): void {
    if (this.#to + leastBytes > this.#page.length) this.#turn(leastBytes)
  }

  #turn(leastBytes: number): void {
    this.handOn()
    this.#page = Buffer.allocUnsafeSlow(Math.max(2 * FLUSH_BYTES, leastBytes))
    this.#from = this.#to = 0
  }

  handOn(): void {
    if (this.#due !== null) clearTimeout(this.#due)
    this.#due = null
    const before = this.#dropped
    if (this.#to > this.#from) this.#hand(this.#batch)
    this.#from = this.#to
    if (before > 0 && before === this.#dropped) this.#tell(before)
  }

  #hand(lines: Buffer): void {
    this.#out.write(lines as unknown as string) // pino's types know it with texts only
  }

  /** Logs how many lines were dropped, now that lines are taken again. */
  #tell(lines: number): void {
    this.#dropped = 0
    const time = new Date().toISOString()
    this.#hand(
      Buffer.from(
        `${JSON.stringify({ level: 'warn', time, lines, msg: 'log lines were dropped: nobody read them' })}\n`,
      ),
    )
    if (this.#dropped > 0) this.#dropped = lines // there was no room for that line, and it is told later
  }
}
