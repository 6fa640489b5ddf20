/** A key with all its facts, and what can be done with it. */
import { hrefOf } from '../../base/address.ts'
import { send } from '../../base/ask.ts'
import { a, button, code, dd, div, dl, dt, p, span } from '../../base/element.ts'
import { say, type View } from '../../base/page.ts'
import { act } from '../../parts/act.ts'
import { dialogBox } from '../../parts/dialog.ts'
import { accountPath } from '../../base/session.ts'
import type { Key } from '../../base/shapes.ts'
import { words } from '../../base/words.ts'
import { deleteDialog } from './delete.ts'
import type { Desk } from './desk.ts'
import { changeDialog } from './edit.ts'
import { rollDialog } from './roll.ts'
import { expiry, lastUse, stateBadges, usedOf } from './shown.ts'

const w = words({
  ending: ['尾号', 'Ending'],
  state: ['状态', 'State'],
  group: ['分组', 'Group'],
  used: ['已用 / 额度', 'Used / cap'],
  lastUsed: ['最近使用', 'Last used'],
  expires: ['到期', 'Expires'],
  creator: ['创建者', 'Made by'],
  networks: ['允许的地址', 'Addresses'],
  models: ['允许的模型', 'Models'],
  any: ['不限', 'All'],
  nothing: ['一个也没有，任何人都无法使用', 'None: nobody can use the key'],
  test: ['测试', 'Test'],
  edit: ['编辑', 'Edit'],
  enable: ['启用', 'Enable'],
  disable: ['停用', 'Disable'],
  enabled: ['已启用', 'Enabled'],
  disabled: ['已停用', 'Disabled'],
  roll: ['更换密钥', 'Roll'],
  delete: ['删除', 'Delete'],
  usage: ['用量', 'Usage'],
  secret: ['完整的密钥只在创建和更换时显示。', 'The whole key is shown only when it is made or rolled.'],
})

export function detailsDialog(desk: Desk, key: Key): View {
  const status = key.status === 'enabled' ? 'disabled' : 'enabled'
  const setStatus = async () => {
    await send('PATCH', `${accountPath()}/keys/${key.id}`, { status })
    desk.close()
    desk.changed()
    say(w[status]())
  }
  const test = async () => {
    const { testDialog } = await import('./test.ts')
    desk.open(testDialog(desk, key))
  }
  const doing = (text: string, onClick: () => void, kind = '') => button({ type: 'button', class: kind, onClick }, text)
  return () =>
    dialogBox(
      key.name,
      desk.close,
      div(
        { class: 'row' },
        desk.managing && [
          doing(w.test(), () => act(test)),
          doing(w.edit(), () => desk.open(changeDialog(desk, key))),
          doing(w.roll(), () => desk.open(rollDialog(desk, key))),
          doing(status === 'disabled' ? w.disable() : w.enable(), () => act(setStatus)),
          doing(w.delete(), () => desk.open(deleteDialog(desk, [key])), 'danger'),
        ],
        a({ class: 'button', href: hrefOf('/usage', { key: key.id }) }, w.usage()),
      ),
      facts(key),
      p({ class: 'hint' }, w.secret()),
    )
}

const facts = (key: Key) =>
  dl(
    { class: 'pairs' },
    dt({}, w.ending()),
    dd({}, code({}, key.hint)),
    dt({}, w.state()),
    dd({}, stateBadges(key)),
    dt({}, w.group()),
    dd({}, key.group),
    dt({}, w.used()),
    dd({}, usedOf(key)),
    dt({}, w.lastUsed()),
    dd({}, lastUse(key)),
    dt({}, w.expires()),
    dd({}, expiry(key)),
    dt({}, w.creator()),
    dd({}, key.created_by?.name ?? '—'),
    dt({}, w.networks()),
    dd({}, names(key.allow_ips)),
    dt({}, w.models()),
    dd({}, names(key.restricted ? key.models : null)),
  )

const names = (list: readonly string[] | null) => {
  if (list === null) return w.any()
  if (list.length === 0) return w.nothing()
  return list.map(name => span({ class: 'listed', key: name }, code({}, name)))
}
