/** The fields of the dialogs in which a key is made and changed. */
import type { Signal } from '@preact/signals'
import { get } from '../../base/ask.ts'
import {
  a,
  button,
  type Child,
  code,
  div,
  fieldset,
  input,
  label,
  legend,
  p,
  span,
  textarea,
} from '../../base/element.ts'
import type { View } from '../../base/page.ts'
import { act } from '../../parts/act.ts'
import { belongs, field, selectField, textField, tick } from '../../parts/field.ts'
import type { Form } from '../../parts/form.ts'
import { told, whenLoaded } from '../../parts/state.ts'
import type { Key } from '../../base/shapes.ts'
import { stamp, zoneName } from '../../base/time.ts'
import { words } from '../../base/words.ts'
import type { Desk } from './desk.ts'
import { DAYS, type Draft, locks } from './form.ts'
import { everyName } from './shown.ts'

const w = words({
  name: ['名称', 'Name'],
  nameHint: ['方便辨认，例如用它的设备或项目。', 'By which you know it: the device or project that uses it.'],
  group: ['分组', 'Group'],
  priced: [
    (name: string, multiplier: string) => `查看 ${name} 的价格（×${multiplier}）`,
    (name: string, multiplier: string) => `Prices of ${name} (×${multiplier})`,
  ],
  life: ['有效期', 'Expires'],
  never: ['永久有效', 'Never'],
  kept: [(at: string) => `${at}（不变）`, (at: string) => `At ${at}, as it is`],
  days: [(days: number) => `${days} 天后`, (days: number) => `In ${days} days`],
  date: ['指定时间', 'At a time of your choice'],
  until: ['到期时间', 'Expires at'],
  zone: [(zone: string) => `时区：${zone}`, (zone: string) => `In the time zone ${zone}`],
  cap: ['额度（元）', 'Cap (CNY)'],
  capHint: ['留空表示不限额。', 'None means that only the balance limits it.'],
  every: ['额度周期', 'The cap counts'],
  bound: ['只允许指定的 IP', 'Only from certain addresses'],
  networks: ['允许的 IP 或网段', 'Allowed addresses'],
  networksHint: ['每行一个 IP 或 CIDR 网段。', 'One IP or CIDR range a line.'],
  mine: ['加入我的地址', 'Add my address'],
  restricted: ['只允许指定的模型', 'Only certain models'],
  restrictedHint: ['关闭后名单会保留。', 'The list is kept when this is off.'],
  models: ['允许的模型', 'Allowed models'],
  find: ['查找模型', 'Find a model'],
  chosen: [(count: number) => `已选 ${count} 个`, (count: number) => `${count} selected`],
  noModels: ['没有符合的模型。', 'No model matches.'],
  gone: ['不在此分组', 'not in this group'],
  noAddress: ['地址名单为空：任何人都无法使用此密钥。', 'The list of addresses is empty: nobody can use this key.'],
  noModel: ['模型名单为空：任何人都无法使用此密钥。', 'The list of models is empty: nobody can use this key.'],
  confirm: ['仍然保存', 'Save it all the same'],
})

/** `key`: null = a new one. */
export function keyFields(desk: Desk, draft: Draft, key: Key | null, form: Form): View {
  const row = (name: string, text: string) => ({ name, label: text, error: form.error(name) })
  return () => [
    textField({ ...row('name', w.name()), hint: w.nameHint() }, draft.name, { autoComplete: 'off', maxLength: 200 }),
    groupField(desk, draft, key, form),
    div(
      { class: 'filters beside' },
      lifeField(draft, key, form),
      draft.life.value === 'date' && untilField(draft, form),
    ),
    div(
      { class: 'filters beside' },
      textField({ ...row('cap', w.cap()), optional: true, hint: w.capHint() }, draft.cap, {
        inputMode: 'decimal',
        autoComplete: 'off',
      }),
      selectField({ name: 'every', label: w.every() }, draft.every, [
        { value: '', text: everyName.once() },
        ...(['day', 'week', 'month'] as const).map(value => ({ value, text: everyName[value]() })),
      ]),
    ),
    tick({ name: 'bound', label: w.bound() }, draft.bound),
    draft.bound.value && networksField(draft, form),
    tick(
      { name: 'restricted', label: w.restricted(), hint: draft.models.value.size > 0 && w.restrictedHint() },
      draft.restricted,
    ),
    draft.restricted.value && modelsField(draft, form),
    lockWarning(draft, form),
  ]
}

function groupField(desk: Desk, { group }: Draft, key: Key | null, form: Form): Child {
  const known = desk.groups().map(({ name }) => name)
  // the group of a key that the account no longer has can be seen, and left
  const all = key === null || known.includes(key.group) ? known : [key.group, ...known]
  const chosen = desk.groups().find(({ name }) => name === group.value)
  const hint = chosen && a({ href: chosen.prices, target: '_blank' }, w.priced(chosen.name, String(chosen.multiplier)))
  return selectField(
    { name: 'group', label: w.group(), error: form.error('group'), hint },
    group,
    all.map(name => ({ value: name, text: name })),
  )
}

const lifeField = ({ life }: Draft, key: Key | null, form: Form): Child =>
  selectField({ name: 'expires_at', label: w.life(), error: form.error('expires_at') }, life, [
    ...(key?.expires_at ? [{ value: 'kept', text: w.kept(stamp(key.expires_at, false)) }] : []),
    { value: 'never', text: w.never() },
    ...DAYS.map(days => ({ value: String(days), text: w.days(days) })),
    { value: 'date', text: w.date() },
  ])

const untilField = ({ until }: Draft, form: Form): Child =>
  textField({ name: 'until', label: w.until(), error: form.error('until'), hint: w.zone(zoneName()) }, until, {
    type: 'datetime-local',
  })

function networksField({ networks }: Draft, form: Form): Child {
  const add = async () => {
    const { address } = await get<{ address: string }>('/address')
    const lines = networks.value.split('\n').filter(line => line.trim() !== '')
    networks.value = [...new Set([...lines, address])].join('\n')
  }
  const row = { name: 'allow_ips', label: w.networks(), hint: w.networksHint(), error: form.error('allow_ips') }
  return [
    // it may be empty, once the reader has confirmed that
    field(
      row,
      textarea({
        ...belongs(row),
        rows: 3,
        value: networks.value,
        onInput: event => (networks.value = event.currentTarget.value),
      }),
    ),
    button({ type: 'button', class: 'small', onClick: () => act(add) }, w.mine()),
  ]
}

const modelsField = (draft: Draft, form: Form): Child => {
  const row = { name: 'models', label: w.models(), error: form.error('models') }
  return field(row, [
    input({
      ...belongs(row),
      type: 'search',
      placeholder: w.find(),
      autoComplete: 'off',
      value: draft.find.value,
      onInput: event => (draft.find.value = event.currentTarget.value),
    }),
    whenLoaded(draft.offered, ({ models }) =>
      modelTicks(
        draft,
        models.map(({ name }) => name),
      ),
    ),
  ])
}

function modelTicks({ find, models }: Draft, offered: readonly string[]): Child {
  const all = [...offered, ...[...models.value].filter(name => !offered.includes(name))]
  const shown = all.filter(name => name.toLowerCase().includes(find.value.trim().toLowerCase()))
  return fieldset(
    { class: 'picker' },
    legend({ class: 'hint' }, w.chosen(models.value.size)),
    shown.length === 0 && p({ class: 'soft' }, w.noModels()),
    shown.map(name =>
      label(
        { key: name, class: 'row' },
        input({ type: 'checkbox', checked: models.value.has(name), onChange: () => flip(models, name) }),
        code({}, name),
        !offered.includes(name) && span({ class: 'soft' }, w.gone()),
      ),
    ),
  )
}

function flip(set: Signal<ReadonlySet<string>>, name: string): void {
  const next = new Set(set.value)
  if (!next.delete(name)) next.add(name)
  set.value = next
}

function lockWarning(draft: Draft, form: Form): Child {
  const empty = locks(draft)
  if (empty.length === 0) return null
  return told(
    'warn',
    empty.includes('allow_ips') && p({}, w.noAddress()),
    empty.includes('models') && p({}, w.noModel()),
    tick({ name: 'confirm', label: w.confirm(), error: form.error('confirm') }, draft.confirmed),
  )
}
