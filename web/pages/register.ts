/** Registering: first the e-mail, to which a letter goes; the link of that letter leads here again. */
import type { RegisterData } from '../../lib/console/answers.ts'
import { takeFragment } from '../base/address.ts'
import { askOnce } from '../base/ask.ts'
import { a, div, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { askEmail } from '../parts/ask-email.ts'
import { formOf } from '../parts/form.ts'
import { toSignIn } from '../parts/link-page.ts'
import { newPerson } from '../parts/new-person.ts'
import { hrefTo, START } from '../shared/sitemap.ts'
import { words } from '../base/words.ts'

const w = words({
  lead: ['输入邮箱，我们会发送确认链接。', 'Enter your e-mail. We send you a link that confirms it.'],
  sent: [
    (email: string) => `邮件已发往 ${email}，链接 24 小时内有效。`,
    (email: string) => `A letter is on its way to ${email}. Its link works for 24 hours.`,
  ],
  finish: ['邮箱已确认。设置姓名和密码即可完成注册。', 'Your e-mail is confirmed. Choose a name and a password.'],
  mailbox: ['打开模拟邮箱', 'Open the simulated mailbox'],
  register: ['完成注册', 'Register'],
})

export default function register({ mailbox }: RegisterData): View {
  const token = takeFragment()
  return token === null ? asking(mailbox) : finishing(token)
}

function asking(mailbox: string | null): View {
  const letters = mailbox !== null && a({ class: 'button main', href: mailbox }, w.mailbox())
  const asked = askEmail('/registration', { ...w, after: () => letters })
  return () => [asked(), toSignIn()]
}

function finishing(token: string): View {
  const person = newPerson()
  const form = formOf(async () => {
    await askOnce('POST', '/registration/confirm', { token, ...person.filled() })
    location.assign(hrefTo(START))
  })
  return () => [
    div(
      { class: 'panel' },
      p({ class: 'soft' }, w.finish()),
      form.view('tall', person.fields(form), form.submit('main', w.register())),
    ),
    toSignIn(),
  ]
}
