/** A new password. */
import { signal } from '@preact/signals'
import { send } from '../../base/ask.ts'
import { h2, p, section } from '../../base/element.ts'
import { say, type View } from '../../base/page.ts'
import { secretField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { me, recognise } from '../../base/session.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['密码', 'Password'],
  none: ['您还没有密码。设置后可用邮箱和密码登录。', 'You have no password yet. With one you can sign in by e-mail.'],
  lead: ['更改后，其他设备上的登录会全部失效。', 'A change signs you out everywhere else.'],
  old: ['当前密码', 'Current password'],
  fresh: ['新密码', 'New password'],
  hint: ['至少 8 个字符，建议 15 个以上。', 'At least 8 characters; 15 or more are better.'],
  change: ['更改密码', 'Change the password'],
  changed: ['密码已更改', 'The password is changed'],
  set: ['设置密码', 'Set a password'],
  isSet: ['密码已设置', 'The password is set'],
})

const ABOUT = { forbidden: 'old', invalid: 'new' }

export function passwordPanel(): View {
  const old = signal('')
  const fresh = signal('')
  const shown = signal(false)
  const form = formOf(async () => {
    const had = me.value?.has_password === true
    await send('POST', '/me/password', { ...(had && { old: old.value }), new: fresh.value })
    old.value = fresh.value = ''
    await recognise()
    say(had ? w.changed() : w.isSet())
  }, ABOUT)
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'password' },
      h2({ id: 'password' }, w.title()),
      p({ class: 'soft' }, me.value?.has_password ? w.lead() : w.none()),
      form.view(
        'tall narrow',
        me.value?.has_password &&
          secretField({ name: 'old', label: w.old(), error: form.error('old') }, old, shown, {
            autoComplete: 'current-password',
          }),
        secretField({ name: 'new', label: w.fresh(), hint: w.hint(), error: form.error('new') }, fresh, shown, {
          autoComplete: 'new-password',
        }),
        form.submit('main', me.value?.has_password ? w.change() : w.set()),
      ),
    )
}
