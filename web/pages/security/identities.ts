/** The OpenID provider that vouches for the reader: linked, and no longer. */
import { get, send } from '../../base/ask.ts'
import { button, div, h2, p, section } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import { say, type View } from '../../base/page.ts'
import { act } from '../../parts/act.ts'
import { formOf } from '../../parts/form.ts'
import { rows } from '../../parts/listing.ts'
import { whenLoaded } from '../../parts/state.ts'
import type { Identity } from '../../base/shapes.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['单点登录', 'Sign-in by a provider'],
  lead: [
    (name: string) => `关联后，可以用 ${name} 登录。邮箱相同不会自动关联。`,
    (name: string) => `Once linked, ${name} signs you in. An equal e-mail alone links nobody.`,
  ],
  gone: ['目前未配置身份提供方，这些关联暂不可用。', 'No provider is configured now, so these sign nobody in.'],
  link: [(name: string) => `关联 ${name}`, (name: string) => `Link ${name}`],
  issuer: ['身份提供方', 'Provider'],
  since: ['关联时间', 'Linked'],
  action: ['操作', 'Action'],
  end: ['取消关联', 'Unlink'],
  endOf: [(issuer: string) => `取消关联 ${issuer}`, (issuer: string) => `Unlink ${issuer}`],
  ended: ['已取消关联', 'Unlinked'],
})

export function identitiesPanel(): View {
  const loaded = load(async () => {
    const [ways, list] = await Promise.all([
      get<{ oidc: string | null }>('/sign-in'),
      get<{ data: Identity[] }>('/me/identities'),
    ])
    return { name: ways.oidc, identities: list.data }
  })
  const link = formOf(async () => {
    location.assign((await send<{ url: string }>('POST', '/me/identities')).url)
  })
  const end = async (id: string) => {
    await send('DELETE', `/me/identities/${encodeURIComponent(id)}`)
    loaded.again()
    say(w.ended())
  }
  return () => {
    const { name, identities } = loaded.value.value ?? { name: null, identities: [] }
    if (name === null && identities.length === 0 && loaded.failure.value === null) return null
    return section(
      { class: 'panel', 'aria-labelledby': 'identities' },
      div(
        { class: 'spread' },
        h2({ id: 'identities' }, w.title()),
        name !== null && link.view('', link.submit('small', w.link(name))),
      ),
      p({ class: 'soft' }, name === null ? w.gone() : w.lead(name)),
      whenLoaded(loaded, () => identities.length > 0 && identityRows(identities, end)),
    )
  }
}

const identityRows = (identities: Identity[], end: (id: string) => Promise<void>) =>
  rows<Identity>({
    caption: w.title(),
    keyOf: ({ id }) => id,
    rows: identities,
    columns: [
      { title: w.issuer(), cell: ({ issuer }) => issuer },
      { title: w.since(), cell: ({ created_at }) => moment(created_at) },
      {
        title: w.action(),
        narrow: 'beside',
        cell: ({ id, issuer }) =>
          button(
            { type: 'button', class: 'small', 'aria-label': w.endOf(issuer), onClick: () => act(() => end(id)) },
            w.end(),
          ),
      },
    ],
  })
