/** The dialogs in which a key is made and changed. */
import { send } from '../../base/ask.ts'
import { button } from '../../base/element.ts'
import { say, type View } from '../../base/page.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { formOf } from '../../parts/form.ts'
import { accountPath } from '../../base/session.ts'
import type { Key, NewKey } from '../../base/shapes.ts'
import { enteredTime } from '../../base/time.ts'
import { words } from '../../base/words.ts'
import type { Desk } from './desk.ts'
import { keyFields } from './fields.ts'
import { bodyOf, changesOf, type Draft, draftOf, locks } from './form.ts'

const w = words({
  make: ['新建密钥', 'New key'],
  create: ['创建密钥', 'Make the key'],
  change: [(name: string) => `编辑 ${name}`, (name: string) => `Edit ${name}`],
  cancel: ['取消', 'Cancel'],
  save: ['保存', 'Save'],
  saved: ['已保存', 'Saved'],
  confirm: ['请先确认', 'Confirm this first'],
  when: ['请选择日期和时间', 'Choose a date and a time'],
  over: ['该时间已过', 'That time is over'],
})

export function newKeyDialog(desk: Desk): View {
  // loaded before there is a secret, which could not be shown again if the module did not come
  const loading = import('./secret.ts')
  const draft = draftOf(null, desk.groups()[0]?.name ?? '')
  return keyDialog(desk, draft, null, async () => {
    const { secretDialog } = await loading
    const made = await send<NewKey>('POST', `${accountPath()}/keys`, bodyOf(draft, null))
    desk.open(secretDialog(desk, made))
  })
}

export function changeDialog(desk: Desk, key: Key): View {
  const draft = draftOf(key, key.group)
  return keyDialog(desk, draft, key, async () => {
    await send('PATCH', `${accountPath()}/keys/${key.id}`, changesOf(draft, key))
    desk.close()
    say(w.saved())
  })
}

const ABOUT = { conflict: 'name' }

/** A key that has expired already serves nobody. */
const isOver = ({ life, until }: Draft): boolean =>
  life.value === 'date' && Date.parse(enteredTime(until.value) ?? '') <= Date.now()

function keyDialog(desk: Desk, draft: Draft, key: Key | null, submit: () => Promise<void>): View {
  const form = formOf(async () => {
    if (locks(draft).length > 0 && !draft.confirmed.value) return form.refuse('confirm', w.confirm())
    if (draft.life.value === 'date' && enteredTime(draft.until.value) === null) return form.refuse('until', w.when())
    if (isOver(draft)) return form.refuse('until', w.over())
    await submit()
    desk.changed()
  }, ABOUT)
  const fields = keyFields(desk, draft, key, form)
  return () =>
    dialogBox(
      key === null ? w.make() : w.change(key.name),
      desk.close,
      form.view(
        'tall',
        fields(),
        buttons(
          button({ type: 'button', onClick: desk.close }, w.cancel()),
          form.submit('main', key === null ? w.create() : w.save()),
        ),
      ),
    )
}
