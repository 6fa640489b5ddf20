/** The dialog in which keys are deleted: one after its name was typed, several after their number was. */
import { signal } from '@preact/signals'
import { send } from '../../base/ask.ts'
import { button, code, li, p, ul } from '../../base/element.ts'
import { say, type View } from '../../base/page.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { textField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { accountPath } from '../../base/session.ts'
import type { Key } from '../../base/shapes.ts'
import { words } from '../../base/words.ts'
import type { Desk } from './desk.ts'

const w = words({
  one: [(name: string) => `删除 ${name}？`, (name: string) => `Delete ${name}?`],
  many: [(count: number) => `删除 ${count} 个密钥？`, (count: number) => `Delete ${count} keys?`],
  lead: [
    '使用它的客户端会立即被拒绝，无法撤销。已有的用量记录会保留。',
    'Clients that use it are refused at once, and this cannot be taken back. What it has used stays in the usage.',
  ],
  typeName: [(name: string) => `输入 ${name} 以确认`, (name: string) => `Type ${name} to confirm`],
  typeCount: [
    (count: number) => `输入密钥数量 ${count} 以确认`,
    (count: number) => `Type ${count}, the number of keys, to confirm`,
  ],
  differs: ['与要求的内容不一致', 'That is not what was asked for'],
  keep: ['保留', 'Keep'],
  delete: ['删除', 'Delete'],
  deleted: [(count: number) => `已删除 ${count} 个密钥`, (count: number) => `Keys deleted: ${count}`],
})

export function deleteDialog(desk: Desk, keys: readonly Key[]): View {
  const typed = signal('')
  const only = keys.length === 1 ? keys[0] : undefined
  const expected = only?.name ?? String(keys.length)
  const form = formOf(async () => {
    if (typed.value.trim() !== expected.trim()) {
      form.refuse('typed', w.differs())
      return
    }
    const count = await remove(keys.map(({ id }) => id))
    desk.close()
    desk.changed()
    say(w.deleted(count))
  })
  return () =>
    dialogBox(
      only === undefined ? w.many(keys.length) : w.one(only.name),
      desk.close,
      p({}, w.lead()),
      only === undefined &&
        ul(
          { class: 'names' },
          keys.map(({ id, name, hint }) => li({ key: id }, name, ' ', code({ class: 'soft' }, hint))),
        ),
      form.view(
        'tall',
        textField(
          {
            name: 'typed',
            label: only === undefined ? w.typeCount(keys.length) : w.typeName(only.name),
            error: form.error('typed'),
          },
          typed,
          { autoComplete: 'off', spellcheck: false },
        ),
        buttons(button({ type: 'button', onClick: desk.close }, w.keep()), form.submit('danger main', w.delete())),
      ),
    )
}

/** The answer is how many of them there were. */
async function remove(ids: string[]): Promise<number> {
  const path = `${accountPath()}/keys`
  if (ids.length === 1) {
    await send('DELETE', `${path}/${ids[0]}`)
    return 1
  }
  const { data } = await send<{ data: { done: boolean }[] }>('POST', `${path}/several`, { ids, action: 'delete' })
  return data.filter(({ done }) => done).length
}
