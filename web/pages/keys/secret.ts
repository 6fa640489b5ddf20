/**
 * The dialog that shows a new secret: the only place where a page has one. It is kept in the memory of the page until the
 * dialog closes, and goes nowhere else but into what the reader copies and the links that the reader follows.
 */
import { effect, signal } from '@preact/signals'
import type { ClientRow } from '../../../lib/console/answers.ts'
import { get } from '../../base/ask.ts'
import { a, button, type Child, div, p } from '../../base/element.ts'
import { canBeAsked, type Values } from '../../shared/fill.ts'
import { load } from '../../base/load.ts'
import type { View } from '../../base/page.ts'
import { clientFiles } from '../../parts/client-files.ts'
import { copyable, snippet } from '../../parts/copy.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { selectField } from '../../parts/field.ts'
import { told } from '../../parts/state.ts'
import { accountPath } from '../../base/session.ts'
import { site } from '../../base/site.ts'
import type { Key, OwnModels } from '../../base/shapes.ts'
import { stamp } from '../../base/time.ts'
import { inLanguage, words } from '../../base/words.ts'
import type { Desk } from './desk.ts'
import { environment, importHref } from './handed-out.ts'
import { oneTokenTrial } from './one-token.ts'

const w = words({
  once: [
    '密钥只显示这一次，请立即保存到安全的地方。',
    'The key is shown only now: keep it in a safe place before you close this.',
  ],
  secret: ['密钥', 'Key'],
  ends: [(at: string) => `旧密钥在 ${at} 失效。`, (at: string) => `The old secret ends at ${at}.`],
  ended: ['旧密钥已失效。', 'The old secret has ended.'],
  client: ['客户端', 'Client'],
  model: ['模型', 'Model'],
  address: ['网关地址', 'Address of the gateway'],
  main: ['主地址', 'Main'],
  direct: ['直连地址', 'Direct'],
  noModel: [
    '此分组没有该客户端可用的模型，请将 MODEL 换成模型名。',
    'The group has no model for this client: put the name of a model in the place of MODEL.',
  ],
  open: [(app: string) => `导入 ${app}`, (app: string) => `Import into ${app}`],
  carries: ['导入链接包含完整的密钥，请勿转发。', 'The link for the import holds the whole key: do not pass it on.'],
  done: ['我已保存', 'I have kept it'],
})

const ENV_CLIENT = '.env'

/** `oldEndsAt`: undefined = the key is new and has no old secret. */
export function secretDialog(
  desk: Desk,
  { key, secret }: { key: Key; secret: string },
  oldEndsAt?: string | null,
): View {
  const { main, direct, clients } = desk.site
  const models = load(() => get<OwnModels>(`${accountPath()}/models`, { group: key.group }))
  const base = signal(main)
  const client = signal(clients[0]?.id ?? ENV_CLIENT)
  const model = signal('')
  const row = (): ClientRow | undefined => clients.find(({ id }) => id === client.value)
  const usable = () =>
    (models.value.value?.models ?? [])
      .filter(canBeAsked)
      .filter(({ name }) => !key.restricted || key.models.includes(name))
  const fitting = () =>
    usable().filter(({ protocols }) => row() === undefined || protocols.some(one => row()?.protocols.includes(one)))
  const trial = oneTokenTrial(secret)
  const done = () => {
    desk.close()
    desk.changed() // who has used the key meanwhile sees what it cost
  }
  effect(() => {
    const fits = fitting()
    if (fits.length > 0 && !fits.some(({ name }) => name === model.value)) model.value = fits[0]?.name ?? ''
  })
  return () => {
    const fits = fitting()
    const shown = fits.find(({ name }) => name === model.value)
    const values: Values = {
      base: base.value,
      key: secret,
      model: shown?.name ?? 'MODEL',
      name: inLanguage(site.value.name),
    }
    const selected = row()
    return dialogBox(
      key.name,
      null,
      told('warn', w.once()),
      copyable(secret, w.secret()),
      oldEndsAt !== undefined && p({ class: 'soft' }, oldEndsAt === null ? w.ended() : w.ends(stamp(oldEndsAt, false))),
      div(
        { class: 'filters beside' },
        selectField({ name: 'client', label: w.client() }, client, [
          ...clients.map(({ id, name }) => ({ value: id, text: inLanguage(name) })),
          { value: ENV_CLIENT, text: ENV_CLIENT },
        ]),
        main !== direct &&
          selectField({ name: 'base', label: w.address(), hint: base.value }, base, [
            { value: main, text: w.main() },
            { value: direct, text: w.direct() },
          ]),
        selected !== undefined &&
          fits.length > 0 &&
          selectField(
            { name: 'model', label: w.model() },
            model,
            fits.map(({ name }) => ({ value: name, text: name })),
          ),
      ),
      selected === undefined
        ? snippet(environment(values, usable()), ENV_CLIENT)
        : models.value.value !== null && handed(selected, values, shown ?? null),
      trial(usable()),
      buttons(button({ type: 'button', class: 'main', onClick: done }, w.done())),
    )
  }
}

const handed = (row: ClientRow, values: Values, model: OwnModels['models'][number] | null): Child => [
  model === null && told('warn', w.noModel()),
  row.links.length > 0 && [
    div(
      { class: 'row' },
      row.links.map(link => a({ key: link.app, class: 'button', href: importHref(link, values) }, w.open(link.app))),
    ),
    p({ class: 'hint' }, w.carries()),
  ],
  clientFiles(row, model, values),
  row.notes.map(note => p({ key: note.en, class: 'hint' }, inLanguage(note))),
]
