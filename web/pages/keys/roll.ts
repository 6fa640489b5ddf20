/** The dialog in which a key gets another secret. */
import { signal } from '@preact/signals'
import { send } from '../../base/ask.ts'
import { button, p } from '../../base/element.ts'
import type { View } from '../../base/page.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { selectField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { accountPath } from '../../base/session.ts'
import type { Key, RolledKey } from '../../base/shapes.ts'
import { words } from '../../base/words.ts'
import type { Desk } from './desk.ts'

const w = words({
  title: [(name: string) => `更换 ${name}`, (name: string) => `Roll ${name}`],
  lead: [
    '密钥会得到新的内容，名称、额度和限制不变。旧密钥在选定的时间后失效。',
    'The key gets another secret and keeps its name, cap and limits. The old secret ends after the time that you choose.',
  ],
  grace: ['旧密钥继续有效', 'The old secret goes on working for'],
  none: ['不保留，立即失效', 'Not at all: it ends now'],
  hour: ['1 小时', '1 hour'],
  day: ['24 小时', '24 hours'],
  cancel: ['取消', 'Cancel'],
  roll: ['更换', 'Roll'],
})

export function rollDialog(desk: Desk, key: Key): View {
  const grace = signal('24h')
  // loaded before there is a secret, which could not be shown again if the module did not come
  const loading = import('./secret.ts')
  const form = formOf(async () => {
    const { secretDialog } = await loading
    const rolled = await send<RolledKey>('POST', `${accountPath()}/keys/${key.id}/roll`, { grace: grace.value })
    desk.open(secretDialog(desk, rolled, rolled.old_secret_ends_at))
    desk.changed()
  })
  return () =>
    dialogBox(
      w.title(key.name),
      desk.close,
      p({}, w.lead()),
      form.view(
        'tall',
        selectField({ name: 'grace', label: w.grace(), error: form.error('grace') }, grace, [
          { value: '24h', text: w.day() },
          { value: '1h', text: w.hour() },
          { value: '0', text: w.none() },
        ]),
        buttons(button({ type: 'button', onClick: desk.close }, w.cancel()), form.submit('main', w.roll())),
      ),
    )
}
