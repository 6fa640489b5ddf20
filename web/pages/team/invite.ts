/** The dialog that invites somebody into the account. The link is shown once, or goes by mail. */
import { signal } from '@preact/signals'
import { send } from '../../base/ask.ts'
import { button, p } from '../../base/element.ts'
import type { View } from '../../base/page.ts'
import { copyable } from '../../parts/copy.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { textField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { roleChoice } from '../../parts/roles.ts'
import { told } from '../../parts/state.ts'
import type { OwnAccount } from '../../base/session.ts'
import { accountPath } from '../../base/session.ts'
import type { NewInvitation } from '../../base/shapes.ts'
import { stamp } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['邀请成员', 'Invite somebody'],
  email: ['邮箱', 'E-mail'],
  invite: ['生成邀请', 'Invite'],
  made: [
    (email: string) => `把此链接发给 ${email}。它只显示这一次，只能使用一次。`,
    (email: string) => `Give this link to ${email}. It is shown only now, and works once.`,
  ],
  mailed: [(email: string) => `邀请已发送至 ${email}。`, (email: string) => `The invitation went to ${email}.`],
  until: [(at: string) => `有效期至 ${at}`, (at: string) => `Good until ${at}`],
  link: ['邀请链接', 'Link of the invitation'],
  close: ['完成', 'Done'],
})

export function inviteDialog(close: () => void, changed: () => void): View {
  const email = signal('')
  const role = signal<OwnAccount['role']>('member')
  const made = signal<NewInvitation | null>(null)
  const form = formOf(async () => {
    made.value = await send<NewInvitation>('POST', `${accountPath()}/invitations`, {
      email: email.value.trim(),
      role: role.value,
    })
    changed()
  })
  const end = () => {
    made.value = null
    email.value = ''
    close()
  }
  return () =>
    dialogBox(
      w.title(),
      end,
      made.value === null
        ? form.view(
            'tall',
            textField({ name: 'email', label: w.email(), error: form.error('email') }, email, {
              type: 'email',
              autoComplete: 'off',
            }),
            roleChoice(role),
            form.submit('main', w.invite()),
          )
        : shownInvitation(made.value, end),
    )
}

const shownInvitation = ({ email, url, expires_at }: NewInvitation, end: () => void) => [
  told('good', url === null ? w.mailed(email) : w.made(email)),
  url !== null && copyable(url, w.link()),
  p({ class: 'soft' }, w.until(stamp(expires_at, false))),
  buttons(button({ type: 'button', class: 'main', onClick: end }, w.close())),
]
