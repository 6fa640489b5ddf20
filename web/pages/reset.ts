/** A new password by a link that an operator made or that came by mail. A second factor stays in force. */
import { signal } from '@preact/signals'
import { askOnce } from '../base/ask.ts'
import { div, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { secretField } from '../parts/field.ts'
import { formOf } from '../parts/form.ts'
import { linkPage, toSignIn } from '../parts/link-page.ts'
import { told } from '../parts/state.ts'
import { words } from '../base/words.ts'

const w = words({
  lead: [
    '设置后，所有设备上的登录都会失效。两步验证不受影响。',
    'It signs you out everywhere. Your two-step verification stays as it is.',
  ],
  password: ['新密码', 'New password'],
  hint: ['至少 8 个字符，建议 15 个以上。', 'At least 8 characters; 15 or more are better.'],
  set: ['设置密码', 'Set the password'],
  done: ['密码已设置，现在可以登录。', 'The password is set. You can sign in now.'],
})

export default (): View =>
  linkPage(token => {
    const password = signal('')
    const shown = signal(false)
    const done = signal(false)
    const form = formOf(async () => {
      await askOnce('POST', '/resets/confirm', { token, password: password.value })
      done.value = true
    })
    return () => [
      div(
        { class: 'panel' },
        done.value
          ? told('good', w.done())
          : [
              p({ class: 'soft' }, w.lead()),
              form.view(
                'tall',
                secretField(
                  { name: 'password', label: w.password(), hint: w.hint(), error: form.error('password') },
                  password,
                  shown,
                  { autoComplete: 'new-password' },
                ),
                form.submit('main', w.set()),
              ),
            ],
      ),
      toSignIn(),
    ]
  })
