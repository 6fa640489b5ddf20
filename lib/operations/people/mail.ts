/**
 * Sends letters. They leave after the transaction that they tell of, one at a time, from a bounded queue: nobody waits
 * for a mail server, and an answer tells by its time nothing of whether a letter was sent. Each is in both languages, the
 * reader's first, because the sender may not know the reader.
 */
import { type Clock, pause } from '../../base/clock.ts'
import type { Config } from '../../config/config.ts'
import type { Logger } from '../../base/log.ts'
import type { Language } from '../../base/people.ts'

interface Letter {
  /** What the sender is called, where the config names only an address. */
  from: string
  to: string
  subject: string
  text: string
}

type Site = Config['site']
type Smtp = NonNullable<Config['smtp']>
type Send = (letter: Letter) => Promise<unknown>

const MOST_WAITING = 200
const TRIES = 3
const PAUSE_MS = 5_000
const TIMEOUT_MS = 20_000

interface MailerDeps {
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

/** The part of an error of the mail server that tells no address. */
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
  return ({ from: name, ...letter }) =>
    transport.sendMail({ ...letter, from: from.includes('<') ? from : { name, address: from } })
}

interface Text {
  subject: string
  lines: string[]
}

const TEXTS: Record<'registration' | 'reset' | 'email' | 'invitation' | 'known', Record<Language, Text>> = {
  registration: {
    zh: { subject: '确认您的邮箱', lines: ['请打开以下链接完成注册，链接 24 小时内有效：'] },
    en: {
      subject: 'Confirm your e-mail',
      lines: ['Open this link to finish your registration. It works for 24 hours:'],
    },
  },
  known: {
    zh: { subject: '您已经注册', lines: ['有人用此邮箱申请注册，但您已经是用户。忘记密码时请在登录页申请重置：'] },
    en: {
      subject: 'You are registered already',
      lines: ['Somebody asked to register with this e-mail, and you are a user already. The page for signing in:'],
    },
  },
  reset: {
    zh: { subject: '重置密码', lines: ['请打开以下链接设置新密码，链接 24 小时内有效：'] },
    en: { subject: 'Reset your password', lines: ['Open this link to choose a new password. It works for 24 hours:'] },
  },
  email: {
    zh: { subject: '确认新的邮箱', lines: ['请打开以下链接确认更换邮箱，链接 24 小时内有效：'] },
    en: {
      subject: 'Confirm your new e-mail',
      lines: ['Open this link to use this e-mail from now on. It works for 24 hours:'],
    },
  },
  invitation: {
    zh: { subject: '邀请', lines: ['您收到一份邀请。请打开以下链接接受，链接 72 小时内有效：'] },
    en: { subject: 'An invitation', lines: ['You are invited. Open this link to accept. It works for 72 hours:'] },
  },
}

const UNASKED: Record<Language, string> = {
  zh: '如果这不是您本人的操作，请忽略本邮件。',
  en: 'If you did not ask for this, ignore this letter.',
}

/** The lines at the foot of a letter: who sends it, and how to reach them. */
const signature = ({ name, contact }: Site, language: Language): string[] =>
  [name[language], contact?.[language] ?? ''].filter(line => line !== '')

/** In the languages of the site, the reader's first. */
export function letter(site: Site, kind: keyof typeof TEXTS, to: string, url: string, language: Language): Letter {
  const order = [...site.languages].sort((a, b) => Number(b === language) - Number(a === language))
  const subjects = order.map(one => TEXTS[kind][one].subject).join(' / ')
  const parts = order.map(one =>
    [...TEXTS[kind][one].lines, '', url, '', UNASKED[one], '', ...signature(site, one), ''].join('\n'),
  )
  const from = site.name[order[0] as Language]
  return { from, to, subject: `[${from}] ${subjects}`, text: parts.join('\n') }
}
