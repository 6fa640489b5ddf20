/** How each client is set up, a tab each: the address that it takes, and what is copied into its files. */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import type { ClientRow, Offered } from '../../lib/console/answers.ts'
import { type Child, code, div, fieldset, input, label, legend, p, span } from '../base/element.ts'
import { fill } from '../shared/fill.ts'
import { site } from '../base/site.ts'
import { inLanguage, words } from '../base/words.ts'
import { clientFiles } from './client-files.ts'
import { copyable } from './copy.ts'
import { tabs } from './tabs.ts'

const w = words({
  clients: ['客户端', 'Clients'],
  address: ['地址', 'Address'],
  choose: ['选择地址', 'Choose an address'],
  main: ['主地址', 'Main'],
  mainNote: ['100 秒内没有任何响应数据时会超时', 'Times out after 100 seconds without any response data'],
  direct: ['直连地址', 'Direct'],
  noModel: ['此分组没有该客户端可用的模型。', 'The group has no model that this client can use.'],
  directNote: ['仅提供 API，没有 100 秒限制', 'API only, without the 100-second limit'],
})

interface Shown {
  main: string
  direct: string
  clients: readonly ClientRow[]
}

type Named = Offered['models'][number]

/** Stands in the files where no model is known. */
const PLACEHOLDER = 'MODEL'

/**
 * `modelOf`: the model that the snippets of a client name; null = none is known, undefined = there is none for this client. `above`:
 * stands above them.
 */
export function clientTabs(
  { main, direct, clients }: Shown,
  modelOf: (row: ClientRow) => Named | null | undefined,
  above: (row: ClientRow) => Child = () => null,
): () => VNode[] {
  const base = signal(main)
  const client = signal(clients[0]?.id ?? '')
  const panel = (row: ClientRow): Child => {
    const model = modelOf(row)
    if (model === undefined) return p({ class: 'soft' }, w.noModel())
    const values = {
      base: base.value,
      key: 'sk-…',
      model: model?.name ?? PLACEHOLDER,
      name: inLanguage(site.value.name),
    }
    return [
      div(
        { class: 'row' },
        span({ class: 'soft' }, w.address()),
        copyable(fill(row.address, 'text', values), w.address()),
      ),
      above(row),
      row.notes.map(note => p({ key: note.en, class: 'soft' }, inLanguage(note))),
      clientFiles(row, model, values),
    ]
  }
  return () => [
    fieldset(
      { class: 'choices', key: 'address' },
      legend({}, w.choose()),
      addressChoice(base, main, w.main(), w.mainNote()),
      addressChoice(base, direct, w.direct(), w.directNote()),
    ),
    tabs(
      'client',
      w.clients(),
      client,
      clients.map(row => ({ id: row.id, title: inLanguage(row.name), panel: () => panel(row) })),
    ),
  ]
}

const addressChoice = (base: Signal<string>, url: string, name: string, note: string): VNode =>
  label(
    { class: 'choice' },
    input({
      type: 'radio',
      name: 'address',
      value: url,
      checked: base.value === url,
      onChange: () => (base.value = url),
    }),
    span({}, span({ class: 'strong' }, name), code({}, url), span({ class: 'soft' }, note)),
  )
