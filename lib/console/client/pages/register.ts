/** Registering: first the e-mail, to which a letter goes; the link of that letter leads here again. */
import { signal } from '@preact/signals'
import { takeFragment } from '../address.ts'
import { askOnce } from '../ask.ts'
import { div, p } from '../element.ts'
import type { View } from '../page.ts'
import { textField } from '../parts/field.ts'
import { formOf } from '../parts/form.ts'
import { toSignIn } from '../parts/link-page.ts'
import { newPerson } from '../parts/new-person.ts'
import { told } from '../parts/state.ts'
import { hrefTo, START } from '../sitemap.ts'
import { words } from '../words.ts'

const w = words({
  lead: ['输入邮箱，我们会发送确认链接。', 'Enter your e-mail, and a link to confirm it goes there.'],
  email: ['邮箱', 'E-mail'],
  send: ['发送链接', 'Send the link'],
  sent: ['邮件已发出，链接 24 小时内有效。', 'A letter is on its way. Its link works for 24 hours.'],
  finish: ['邮箱已确认。设置姓名和密码即可完成注册。', 'Your e-mail is confirmed. Choose a name and a password.'],
  register: ['完成注册', 'Register'],
})

export default function register(): View {
  const token = takeFragment()
  return token === null ? asking() : finishing(token)
}

function asking(): View {
  const email = signal('')
  const sent = signal(false)
  const form = formOf(async () => {
    await askOnce('POST', '/registration', { email: email.value.trim() })
    sent.value = true
  })
  return () => [
    div(
      { class: 'panel' },
      sent.value
        ? told('good', w.sent())
        : [
            p({ class: 'soft' }, w.lead()),
            form.view(
              'tall',
              textField({ name: 'email', label: w.email(), error: form.error('email') }, email, {
                type: 'email',
                autoComplete: 'username',
              }),
              form.submit('main', w.send()),
            ),
          ],
    ),
    toSignIn(),
  ]
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
