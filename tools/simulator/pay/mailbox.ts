/**
 * The mailbox of `gateway demo`: a mail server of this machine takes all letters and sends none. Everybody on this machine can open the
 * page of the mailbox, so it shows only letters to people who register: a link that leads into a user that exists is for the terminal.
 */
import { type MailServer, startMailServer } from '../mail-server.ts'
import { escaped } from '../../../lib/base/html.ts'
import type { Teardown } from './server.ts'

/** `link`: into the console; null = there is none. Both are printable ASCII, whatever the sender wrote. */
export interface DemoLetter {
  to: string
  link: string | null
}

export class Mailbox {
  readonly #server: MailServer
  readonly #main: string

  /** `main`: the address of the gateway, to which links lead. `told`: called with each letter. */
  static async open(t: Teardown, main: string, told: (letter: DemoLetter) => void): Promise<Mailbox> {
    const server = await startMailServer(t, null, ({ to, text }) =>
      told({ to: to.replaceAll(/[^!-~]/g, '?'), link: linkIn(text, main) }),
    )
    return new Mailbox(server, main)
  }

  private constructor(server: MailServer, main: string) {
    this.#server = server
    this.#main = main
  }

  get port(): number {
    return this.#server.port
  }

  /** The latest letter first. */
  page(): string {
    const shown = this.#server.letters.toReversed().flatMap(({ to, text }) => {
      const link = linkIn(text, this.#main)
      const isForPage = link !== null && /\/console\/(?:register#[\w-]+|sign-in)$/.test(link)
      return isForPage ? [`<div class="letter"><p>${escaped(to)}</p>${marked(text, link)}</div>`] : []
    })
    return `<h1>邮箱 The mailbox</h1>${shown.join('') || '<p>没有邮件，几秒后刷新。No letter yet: reload in a few seconds.</p>'}
<p>重置密码、更换邮箱与邀请的链接只在终端显示。Links of resets, new addresses and invitations stand in the terminal only.</p>`
  }
}

const linkIn = (text: string, main: string): string | null => {
  const link = /https?:[!-~]+/.exec(text)?.[0] ?? ''
  return link.startsWith(`${main}/console/`) ? link : null
}

/** The text, in which its link can be followed. */
function marked(text: string, link: string): string {
  const shown = escaped(link)
  return `<pre>${escaped(text).replaceAll(shown, () => `<a href="${shown}">${shown}</a>`)}</pre>`
}
