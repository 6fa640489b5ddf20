/**
 * Writes log lines to standard output in batches. pino's own output (sonic-boom) walks through its queue for every text
 * it is given, so lines are collected here first and handed on together. The queue is bounded: when nobody reads
 * standard output, lines are dropped and counted, and the number is logged as soon as somebody reads again.
 */
import { writeSync } from 'node:fs'
import { type DestinationStream, pino } from 'pino'

/** The longest that a line waits in the batch. */
const FLUSH_MS = 100
/** A batch of this many characters is handed on at once. */
const FLUSH_LENGTH = 16 * 1024
/** The most bytes that wait for a reader of standard output; lines beyond it are dropped. */
const MOST_BYTES = 64 * 1024 * 1024

export class LogOutput implements DestinationStream {
  readonly #out: ReturnType<typeof pino.destination>
  #text = ''
  #due: NodeJS.Timeout | null = null
  #dropped = 0

  /** `fd` is the file descriptor to write to; tests give that of a file. */
  constructor(fd = 1, mostBytes = MOST_BYTES) {
    this.#out = pino.destination({ fd, sync: false, maxLength: mostBytes })
    this.#out.on('drop', (text: string) => {
      this.#dropped += text.split('\n').length - 1
    })
    // prepended, because sonic-boom closes itself when the process has nothing more to do
    process.prependListener('beforeExit', () => this.handOn())
    process.prependListener('exit', () => this.#handOnNow(fd))
  }

  /** Writes everything synchronously: in the `exit` event, asynchronous writes would never be done. */
  #handOnNow(fd: number): void {
    try {
      if (!(this.#out as { destroyed?: boolean }).destroyed) this.#out.flushSync()
      writeSync(fd, this.#text)
    } catch {
      // nobody reads standard output, and there is no other place to report it
    }
  }

  write(line: string): void {
    this.#text += line
    if (this.#text.length >= FLUSH_LENGTH) this.handOn()
    else this.#due ??= setTimeout(() => this.handOn(), FLUSH_MS).unref()
  }

  /** Hands on the batch. */
  handOn(): void {
    if (this.#due !== null) clearTimeout(this.#due)
    this.#due = null
    const before = this.#dropped
    if (this.#text !== '') this.#out.write(this.#text)
    this.#text = ''
    if (before > 0 && before === this.#dropped) this.#tell(before)
  }

  /** Logs how many lines were dropped, now that lines are taken again. */
  #tell(lines: number): void {
    this.#dropped = 0
    const time = new Date().toISOString()
    this.#out.write(
      `${JSON.stringify({ level: 'warn', time, lines, msg: 'log lines were dropped: nobody read them' })}\n`,
    )
  }
}
