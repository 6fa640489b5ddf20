/**
 * Connect: the addresses, what each client needs, and a check of a key. The key is only in its input field and in the
 * header of one request: it is stored nowhere, and the form could not put it into an address.
 */
import type { ConnectData } from '../../lib/console/answers.ts'
import { code, h2, li, p, section, span, ul } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { checkKey } from '../parts/check-key.ts'
import { clientTabs } from '../parts/client-tabs.ts'
import { inLanguage, words } from '../base/words.ts'
import { modelChoice } from './connect/models.ts'

const w = words({
  lead: [
    '一个地址、一个密钥，连接多家模型。只需更换客户端的地址与密钥。',
    'One address and one key for many models. A client needs nothing but the address and the key.',
  ],
  setUp: ['设置客户端', 'Set up a client'],
  fails: ['常见问题', 'When something fails'],
  requestId: [
    '错误信息带有请求编号（request id），联系支持时请附上。',
    'Errors carry a request id: name it when you ask for support.',
  ],
  slow: [
    '超过 100 秒没有任何响应数据。请使用流式输出，或改用直连地址。',
    'No response data came for 100 seconds: use streaming, or the direct address.',
  ],
})

/** What stands between readers and the gateway answers so; no row of ours does. */
const TOO_SLOW = 524

export default function connect(data: ConnectData): View {
  const models = modelChoice(data.offered)
  const setUp = clientTabs(data, models.modelOf, models.choice)
  const check = checkKey()
  return () => [
    p({ class: 'lead' }, w.lead()),
    section({ class: 'panel', 'aria-labelledby': 'set-up' }, h2({ id: 'set-up' }, w.setUp()), models.groups(), setUp()),
    check(),
    section(
      { class: 'panel', 'aria-labelledby': 'fails' },
      h2({ id: 'fails' }, w.fails()),
      ul(
        { class: 'facts' },
        data.failures.map(({ name, status, why, todo }) =>
          li({ key: name }, code({}, status), span({}, inLanguage(why), ' ', inLanguage(todo))),
        ),
        li({ key: TOO_SLOW }, code({}, TOO_SLOW), span({}, w.slow())),
      ),
      p({ class: 'soft' }, w.requestId()),
    ),
  ]
}
