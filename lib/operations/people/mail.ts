/**
 * Sends letters. They leave after the transaction that they tell of, one at a time, from a bounded queue: nobody waits
 * for a mail server, and an answer tells by its time nothing of whether a letter was sent.
 */
import { type Clock, pause } from '../../base/clock.ts'
import type { Config } from '../../config/config.ts'
import type { Logger } from '../../terms/log.ts'

export interface Letter {
  to: string
  subject: string
  text: string
}

type Smtp = NonNullable<Config['smtp']>
type Send = (letter: Letter) => Promise<unknown>

const MOST_WAITING = 200
const TRIES = 3
const PAUSE_MS = 5_000
const TIMEOUT_MS = 20_000

export interface MailerDeps {
  clock: Clock
  log: Logger
  /** The section `smtp` in force. */
  smtp: () => Config['smtp']
}

export class Mailer {
  readonly #deps: MailerDeps
  readonly #waiting: Letter[] = []
  #working: Promise<void> | null = null
  /** The way to the server that `#for` says. */
  #send: Send | null = null
  #for: Smtp | null = null

  constructor(deps: MailerDeps) {
    this.#deps = deps
  }

  get configured(): boolean {
    return this.#deps.smtp() !== null
  }

  /** Puts a letter into the queue. What is too much is dropped, and the log says so. */
  send(letter: Letter): void {
    const { log } = this.#deps
    if (!this.configured) return
    if (this.#waiting.length >= MOST_WAITING) {
      log.error({ waiting: MOST_WAITING }, 'the queue of letters is full: a letter is dropped')
      return
    }
    this.#waiting.push(letter)
    this.#working ??= this.#work().finally(() => {
      this.#working = null
    })
  }

  /** Resolves when no letter waits. */
  async idle(): Promise<void> {
    while (this.#working !== null) await this.#working
  }

  async #work(): Promise<void> {
    for (let letter = this.#waiting.shift(); letter !== undefined; letter = this.#waiting.shift())
      await this.#deliver(letter)
  }

  async #deliver(letter: Letter): Promise<void> {
    const { clock, log } = this.#deps
    for (let tries = 1; ; tries++) {
      try {
        const send = await this.#way()
        await send?.(letter)
        return
      } catch (error) {
        if (tries === TRIES) return log.error({ err: told(error) }, 'a letter could not be sent')
        await pause(clock, PAUSE_MS * tries)
      }
    }
  }

  async #way(): Promise<Send | null> {
    const smtp = this.#deps.smtp()
    if (smtp === null) return null
    if (this.#send === null || this.#for !== smtp) {
      this.#send = await openMail(smtp)
      this.#for = smtp
    }
    return this.#send
  }
}

/** Of an error of the mail server only what tells no address. */
const told = (error: unknown): object => {
  const { code, responseCode, command } = error as { code?: string; responseCode?: number; command?: string }
  return { code, responseCode, command }
}

/** Loaded only when there is mail to send. */
async function openMail({ host, port, security, user, password, from }: Smtp): Promise<Send> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(user === null ? {} : { auth: { user, pass: password ?? '' } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return letter => transport.sendMail({ from, ...letter })
}
