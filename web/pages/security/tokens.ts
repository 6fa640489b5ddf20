/** Personal tokens, with which programs make the reader's calls. */
import { signal } from '@preact/signals'
import { get, send } from '../../base/ask.ts'
import { a, button, code, div, h2, p, section, span } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import { say, type View } from '../../base/page.ts'
import { act } from '../../parts/act.ts'
import { copyable } from '../../parts/copy.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { selectField, textArea, textField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { rows } from '../../parts/listing.ts'
import { empty, told, whenLoaded } from '../../parts/state.ts'
import { me } from '../../base/session.ts'
import type { NewToken, Token } from '../../base/shapes.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'
import { hrefTo } from '../../shared/sitemap.ts'

const w = words({
  title: ['个人令牌', 'Personal tokens'],
  lead: [
    '供脚本和命令行使用控制台接口，不能用于调用模型。',
    'For scripts and the command line that use the console’s API. They cannot be used to call models.',
  ],
  reference: ['控制台接口', 'Console API'],
  none: ['还没有令牌。', 'There is no token yet.'],
  make: ['新建令牌', 'New token'],
  name: ['名称', 'Name'],
  scope: ['权限', 'Permission'],
  read: ['只读', 'read only'],
  keys: ['读取并管理密钥', 'read, and manage keys'],
  operator: ['运营操作', 'operators’ calls'],
  until: ['有效期至', 'Expires'],
  lasting: ['有效期', 'Valid for'],
  days: [(days: number) => `${days} 天`, (days: number) => `${days} days`],
  used: ['最近使用', 'Last used'],
  never: ['从未', 'never'],
  networks: ['允许的 IP 或网段', 'Allowed addresses'],
  networksHint: ['每行一个，留空表示不限。', 'One per line. Leave it empty to allow every address.'],
  once: ['令牌只显示这一次。', 'The token is shown only this once.'],
  secret: ['令牌', 'Token'],
  done: ['我已保存', 'I have kept it'],
  cancel: ['取消', 'Cancel'],
  action: ['操作', 'Action'],
  end: ['撤销', 'Revoke'],
  endOf: [(name: string) => `撤销 ${name}`, (name: string) => `Revoke ${name}`],
  ended: ['已撤销', 'Revoked'],
})

const DAY_MS = 86_400_000
const LIVES = [30, 90, 365]

export function tokensPanel(): View {
  const tokens = load(() => get<{ data: Token[] }>('/me/tokens'))
  const making = signal(false)
  const dialog = newTokenDialog(() => (making.value = false), tokens.again)
  const end = async (id: string) => {
    await send('DELETE', `/me/tokens/${encodeURIComponent(id)}`)
    tokens.again()
    say(w.ended())
  }
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'tokens' },
      div(
        { class: 'spread' },
        h2({ id: 'tokens' }, w.title()),
        button({ type: 'button', class: 'small', onClick: () => (making.value = true) }, w.make()),
      ),
      p({ class: 'soft' }, w.lead(), ' ', a({ href: hrefTo('console-api') }, w.reference())),
      whenLoaded(tokens, ({ data }) => (data.length === 0 ? empty('key', w.none()) : table(data, end))),
      making.value && dialog(),
    )
}

const table = (data: Token[], end: (id: string) => Promise<void>) =>
  rows<Token>({
    caption: w.title(),
    keyOf: ({ id }) => id,
    rows: data,
    columns: [
      { title: w.name(), cell: ({ name, hint }) => [span({}, name), code({ class: 'under' }, hint)] },
      { title: w.scope(), narrow: 'beside', cell: ({ scope }) => w[scope]() },
      { title: w.until(), cell: ({ expires_at }) => moment(expires_at) },
      { title: w.used(), cell: ({ used_at }) => (used_at === null ? w.never() : moment(used_at)) },
      {
        title: w.action(),
        narrow: 'plain',
        cell: ({ id, name }) =>
          button(
            { type: 'button', class: 'small', 'aria-label': w.endOf(name), onClick: () => act(() => end(id)) },
            w.end(),
          ),
      },
    ],
  })

function newTokenDialog(close: () => void, changed: () => void): View {
  const name = signal('')
  const scope = signal<string>('read')
  const days = signal('90')
  const networks = signal('')
  const made = signal<NewToken | null>(null)
  const form = formOf(async () => {
    const allowed = networks.value.split(/\s+/).filter(line => line !== '')
    made.value = await send<NewToken>('POST', '/me/tokens', {
      name: name.value.trim(),
      scope: scope.value,
      expires_at: new Date(Date.now() + Number(days.value) * DAY_MS).toISOString(),
      allow_ips: allowed.length === 0 ? null : allowed,
    })
    changed()
  })
  const end = () => {
    made.value = null
    name.value = ''
    close()
  }
  const scopes = () => (me.value?.operator ? (['read', 'keys', 'operator'] as const) : (['read', 'keys'] as const))
  return () =>
    made.value === null
      ? dialogBox(
          w.make(),
          end,
          form.view(
            'tall',
            textField({ name: 'name', label: w.name(), error: form.error('name') }, name, { autoComplete: 'off' }),
            selectField(
              { name: 'scope', label: w.scope(), error: form.error('scope') },
              scope,
              scopes().map(value => ({ value, text: w[value]() })),
            ),
            selectField(
              { name: 'expires_at', label: w.lasting(), error: form.error('expires_at') },
              days,
              LIVES.map(life => ({ value: String(life), text: w.days(life) })),
            ),
            textArea(
              {
                name: 'allow_ips',
                label: w.networks(),
                hint: w.networksHint(),
                error: form.error('allow_ips'),
                optional: true,
              },
              networks,
            ),
            buttons(button({ type: 'button', onClick: end }, w.cancel()), form.submit('main', w.make())),
          ),
        )
      : dialogBox(
          made.value.name,
          null,
          told('warn', w.once()),
          copyable(made.value.secret, w.secret()),
          buttons(button({ type: 'button', class: 'main', onClick: end }, w.done())),
        )
}
