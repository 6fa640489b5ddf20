/** The dialog in which an owner removes a member: it lists the keys that the member made, and asks what becomes of them. */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { get, send } from '../../base/ask.ts'
import { button, type Child, fieldset, input, label, legend, li, p, span, ul } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import type { View } from '../../base/page.ts'
import { badge } from '../../parts/badge.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { formOf } from '../../parts/form.ts'
import { whenLoaded } from '../../parts/state.ts'
import { me } from '../../base/session.ts'
import type { Member, ShownMember } from '../../base/shapes.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: [(name: string) => `将 ${name} 移出账户？`, (name: string) => `Remove ${name} from the account?`],
  lead: ['该成员将无法再访问此账户。', 'The member can no longer get into this account.'],
  remove: ['移出账户', 'Remove from the account'],
  keep: ['保留', 'Keep'],
  keys: [
    (count: number) => `该成员创建了 ${count} 个密钥：`,
    (count: number) => (count === 1 ? 'The member made one key:' : `The member made ${count} keys:`),
  ],
  noKeys: ['该成员没有创建密钥。', 'The member made no keys.'],
  more: [(count: number) => `另有 ${count} 个`, (count: number) => `and ${count} more`],
  off: ['已停用', 'Disabled'],
  what: ['这些密钥如何处理？', 'What becomes of these keys?'],
  disable: ['停用', 'Disable them'],
  disableNote: [
    '使用它们的程序会立即停止工作；之后可以重新启用。',
    'Programs that use them stop working. You can enable them later.',
  ],
  handOver: ['移交给我', 'Hand them to me'],
  handOverNote: [
    '密钥继续有效，由您管理。原成员仍知道这些密钥，请尽快轮换。',
    'They go on working and become yours. The member still knows them, so roll them soon.',
  ],
})

export type Fate = 'disable' | 'hand_over'

/** More would make the dialog long, and they are all on the page Keys. */
const MOST_SHOWN = 10

/** `path`: of the calls about the member. */
export function removalDialog(member: Member, path: string, close: () => void, done: () => void): View {
  const fate = signal<Fate>('disable')
  const loaded = load(() => get<ShownMember>(path))
  const form = formOf(async () => {
    await send('DELETE', `${path}?keys=${fate.value}`)
    done()
  })
  return () =>
    dialogBox(
      w.title(member.name),
      close,
      p({}, w.lead()),
      whenLoaded(loaded, ({ keys }) =>
        keys.length === 0
          ? p({ class: 'soft' }, w.noKeys())
          : // who leaves cannot hand keys to oneself
            [keyList(keys), member.id !== me.value?.id && fateChoice(fate)],
      ),
      form.view(
        'tall',
        buttons(
          button({ type: 'button', onClick: close }, w.keep()),
          loaded.value.value !== null && form.submit('danger main', w.remove()),
        ),
      ),
    )
}

const keyList = (keys: ShownMember['keys']): Child => [
  p({}, w.keys(keys.length)),
  ul(
    {},
    keys
      .slice(0, MOST_SHOWN)
      .map(({ id, name, status }) => li({ key: id }, name, ' ', status === 'disabled' && badge('plain', w.off()))),
    keys.length > MOST_SHOWN && li({ class: 'soft' }, w.more(keys.length - MOST_SHOWN)),
  ),
]

export const fateChoice = (fate: Signal<Fate>): VNode => {
  const choice = (value: Fate, name: string, note: string) =>
    label(
      { class: 'choice' },
      input({
        type: 'radio',
        name: 'keys',
        value,
        checked: fate.value === value,
        onChange: () => (fate.value = value),
      }),
      span({}, span({ class: 'strong' }, name), span({ class: 'soft' }, note)),
    )
  return fieldset(
    { class: 'choices' },
    legend({}, w.what()),
    choice('disable', w.disable(), w.disableNote()),
    choice('hand_over', w.handOver(), w.handOverNote()),
  )
}
