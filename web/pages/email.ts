/** Confirms a new e-mail by the link in the letter that went there. */
import { signal } from '@preact/signals'
import { askOnce } from '../base/ask.ts'
import { div, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { formOf } from '../parts/form.ts'
import { linkPage, toSignIn } from '../parts/link-page.ts'
import { told } from '../parts/state.ts'
import { words } from '../base/words.ts'

const w = words({
  lead: [
    '确认后，请用新邮箱登录。所有设备上的登录都会失效。',
    'From then on you sign in with the new e-mail. You are signed out everywhere.',
  ],
  confirm: ['确认', 'Confirm'],
  done: ['新邮箱已生效，请重新登录。', 'The new e-mail is in force. Sign in with it.'],
})

export default (): View =>
  linkPage(token => {
    const done = signal(false)
    const form = formOf(async () => {
      await askOnce('POST', '/email', { token })
      done.value = true
    })
    return () => [
      div(
        { class: 'panel' },
        done.value ? told('good', w.done()) : [p({}, w.lead()), form.view('tall', form.submit('main', w.confirm()))],
      ),
      toSignIn(),
    ]
  })
