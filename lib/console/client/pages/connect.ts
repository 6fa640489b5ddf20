/**
 * Connect: the addresses, what each client needs, and a check of a key. The key is only in its input field and in the
 * header of one request: it is stored nowhere, and the form could not put it into an address.
 */
import { signal } from '@preact/signals'
import type { ConnectData } from '../../connect-data.ts'
import { type Child, code, div, fieldset, h2, input, label, legend, li, p, section, span, ul } from '../element.ts'
import { fill, type Syntax } from '../fill.ts'
import type { View } from '../page.ts'
import { checkKey } from '../parts/check-key.ts'
import { copyable, snippet } from '../parts/copy.ts'
import { tabs } from '../parts/tabs.ts'
import { inLanguage, words } from '../words.ts'

const w = words({
  lead: [
    '一个地址、一个密钥，连接多家模型。只需更换客户端的地址与密钥。',
    'One address and one key for many models. A client needs nothing but the address and the key.',
  ],
  choose: ['选择地址', 'Choose an address'],
  main: ['主地址', 'Main'],
  mainNote: ['100 秒内没有任何响应数据时会超时', 'Times out after 100 seconds without any response data'],
  direct: ['直连地址', 'Direct'],
  directNote: ['仅提供 API,没有 100 秒限制', 'API only, without the 100-second limit'],
  setUp: ['设置客户端', 'Set up a client'],
  clients: ['客户端', 'Clients'],
  address: ['地址', 'Address'],
  fails: ['常见问题', 'When something fails'],
  requestId: [
    '错误信息带有请求编号（request id），联系支持时请附上。',
    'Errors carry a request id: name it when you ask for support.',
  ],
  refused: [
    '密钥有误、已停用、已过期或额度用尽；请检查多余的空格。',
    'The key is wrong, disabled, expired or used up; look for stray spaces.',
  ],
  busy: ['稍等后重试，每次等待更久。', 'Try again later, with growing waits.'],
  slow: ['请使用流式输出，或改用直连地址。', 'Use streaming, or the direct address.'],
})

const FAILURES = [
  ['401', w.refused],
  ['429 · 5xx', w.busy],
  ['524', w.slow],
] as const

export default function connect({ main, direct, clients }: ConnectData): View {
  const base = signal(main)
  const client = signal(clients[0]?.id ?? '')
  const filled = (text: string, syntax: Syntax) =>
    fill(text, syntax, { base: base.value, key: 'sk-…', model: 'MODEL', name: 'Gateway' })
  const choice = (url: string, name: string, note: string) =>
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
  const panel = ({ address, snippets, notes }: ConnectData['clients'][number]): Child => [
    div({ class: 'row' }, span({ class: 'soft' }, w.address()), copyable(filled(address, 'text'), w.address())),
    notes.map(note => p({ key: note.en, class: 'soft' }, inLanguage(note))),
    snippets.map(({ title, syntax, text }) => div({ key: title }, snippet(filled(text, syntax), title))),
  ]
  const check = checkKey()
  return () => [
    p({ class: 'lead' }, w.lead()),
    section(
      { class: 'panel', 'aria-labelledby': 'set-up' },
      h2({ id: 'set-up' }, w.setUp()),
      fieldset(
        { class: 'choices' },
        legend({}, w.choose()),
        choice(main, w.main(), w.mainNote()),
        choice(direct, w.direct(), w.directNote()),
      ),
      tabs(
        'client',
        w.clients(),
        client,
        clients.map(row => ({ id: row.id, title: inLanguage(row.name), panel: () => panel(row) })),
      ),
    ),
    check(),
    section(
      { class: 'panel', 'aria-labelledby': 'fails' },
      h2({ id: 'fails' }, w.fails()),
      ul(
        { class: 'facts' },
        FAILURES.map(([status, text]) => li({ key: status }, code({}, status), span({}, text()))),
      ),
      p({ class: 'soft' }, w.requestId()),
    ),
  ]
}
