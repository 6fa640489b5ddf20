/** The dialog in which an owner gives a member another role, or removes the member. */
import { type Signal, signal } from '@preact/signals'
import { send } from '../../ask.ts'
import { button, p } from '../../element.ts'
import { say, type View } from '../../page.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { formOf } from '../../parts/form.ts'
import { roleChoice } from '../../parts/roles.ts'
import { accountPath } from '../../session.ts'
import type { Member } from '../../shapes.ts'
import { words } from '../../words.ts'
import { removalDialog } from './removal.ts'

const w = words({
  save: ['保存', 'Save'],
  saved: ['已保存，该成员需要重新登录', 'Saved. The member has to sign in again'],
  remove: ['移出账户', 'Remove from the account'],
  removed: ['已移出', 'Removed'],
})

export function memberDialog(chosen: Signal<Member | null>, changed: () => void): View {
  const role = signal<Member['role']>('member')
  const removing = signal<View | null>(null)
  const path = () => `${accountPath()}/members/${encodeURIComponent(chosen.value?.id ?? '')}`
  const close = () => {
    chosen.value = null
    removing.value = null
  }
  const remove = (member: Member) => {
    removing.value = removalDialog(member, path(), close, () => done(w.removed()))
  }
  const done = (text: string) => {
    close()
    changed()
    say(text)
  }
  chosen.subscribe(member => {
    if (member !== null) role.value = member.role
  })
  const changing = formOf(async () => {
    await send('PATCH', path(), { role: role.value })
    done(w.saved())
  })
  return () => {
    const member = chosen.value as Member
    const { name, email } = member
    if (removing.value !== null) return removing.value()
    return dialogBox(
      name,
      close,
      p({ class: 'soft' }, email),
      changing.view('tall', roleChoice(role), changing.submit('main', w.save())),
      p({}, button({ type: 'button', class: 'danger small', onClick: () => remove(member) }, w.remove())),
    )
  }
}
