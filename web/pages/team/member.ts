/** The dialog in which an owner gives a member another role, or removes the member. */
import { type Signal, signal } from '@preact/signals'
import { send } from '../../base/ask.ts'
import { button, p } from '../../base/element.ts'
import { say, type View } from '../../base/page.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { formOf } from '../../parts/form.ts'
import { roleChoice } from '../../parts/roles.ts'
import { accountPath, me } from '../../base/session.ts'
import type { Member } from '../../base/shapes.ts'
import { words } from '../../base/words.ts'
import { type Fate, fateChoice, removalDialog } from './removal.ts'
import { may } from '../../shared/roles.ts'

const w = words({
  save: ['保存', 'Save'],
  saved: ['已保存，该成员需要重新登录', 'Saved. The member has to sign in again'],
  remove: ['移出账户', 'Remove from the account'],
  removed: ['已移出', 'Removed'],
  noKeys: [
    '此角色不能持有密钥。该成员创建的密钥会被停用。',
    'Nobody has keys with this role. Those that the member made are disabled.',
  ],
  lost: ['此角色不能持有密钥。', 'Nobody has keys with this role.'],
})

const makesKeys = (role: Member['role']): boolean => may(role, 'makeKeys')

export function memberDialog(chosen: Signal<Member | null>, changed: () => void): View {
  const role = signal<Member['role']>('member')
  const fate = signal<Fate>('disable')
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
    fate.value = 'disable'
  })
  const changing = formOf(async () => {
    await send('PATCH', path(), { role: role.value, keys: fate.value })
    done(w.saved())
  })
  const losesKeys = (member: Member) => makesKeys(member.role) && !makesKeys(role.value)
  // nobody hands keys to oneself
  const lost = ({ id }: Member) =>
    id === me.value?.id ? p({ class: 'soft' }, w.noKeys()) : [p({}, w.lost()), fateChoice(fate)]
  return () => {
    const member = chosen.value as Member
    const { name, email } = member
    if (removing.value !== null) return removing.value()
    return dialogBox(
      name,
      close,
      p({ class: 'soft' }, email),
      changing.view('tall', roleChoice(role), losesKeys(member) && lost(member), changing.submit('main', w.save())),
      p({}, button({ type: 'button', class: 'danger small', onClick: () => remove(member) }, w.remove())),
    )
  }
}
