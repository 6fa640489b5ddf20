/**
 * Standard output for log lines: collected here and handed on many at a time, because the library walks through what it
 * holds for each text it is given. Bounded: what nobody takes is dropped, counted, and reported as soon as somebody does.
 */
import { writeSync } from 'node:fs'
import { type DestinationStream, pino } from 'pino'

/** Lines are handed on at the latest after this … */
const FLUSH_MS = 100
/** … or with so many characters. */
const FLUSH_LENGTH = 16 * 1024
/** What may wait for a reader of standard output. */
const MOST_BYTES = 64 * 1024 * 1024

export class LogOutput implements DestinationStream {
  readonly #out: ReturnType<typeof pino.destination>
  #text = ''
  #due: NodeJS.Timeout | null = null
  #dropped = 0

  /** `fd`: of a file, for tests. */
  constructor(fd = 1, mostBytes = MOST_BYTES) {
    this.#out = pino.destination({ fd, sync: false, maxLength: mostBytes })
    this.#out.on('drop', (text: string) => {
      this.#dropped += text.split('\n').length - 1
    })
    // before the library, which closes itself when the process has nothing more to do
    process.prependListener('beforeExit', () => this.handOn())
    process.prependListener('exit', () => this.#handOnNow(fd))
  }

  /** No thread will write for us any more. */
  #handOnNow(fd: number): void {
    try {
      if (!(this.#out as { destroyed?: boolean }).destroyed) this.#out.flushSync()
      writeSync(fd, this.#text)
    } catch {
      // nobody reads, and there is nobody to be told
    }
  }

  write(line: string): void {
    this.#text += line
    if (this.#text.length >= FLUSH_LENGTH) this.handOn()
    else this.#due ??= setTimeout(() => this.handOn(), FLUSH_MS).unref()
  }

  /** What is collected so far goes out. */
  handOn(): void {
    if (this.#due !== null) clearTimeout(this.#due)
    this.#due = null
    const before = this.#dropped
    if (this.#text !== '') this.#out.write(this.#text)
    this.#text = ''
    if (before > 0 && before === this.#dropped) this.#tell(before)
  }

  /** The lines after those that are missing went through. */
  #tell(lines: number): void {
    this.#dropped = 0
    const time = new Date().toISOString()
    this.#out.write(
      `${JSON.stringify({ level: 'warn', time, lines, msg: 'log lines were dropped: nobody read them' })}\n`,
    )
  }
}
