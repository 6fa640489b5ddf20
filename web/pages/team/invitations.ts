/** Invitations that nobody has used yet. */
import { get, send } from '../../base/ask.ts'
import { button, h2, section } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import { say, type View } from '../../base/page.ts'
import { act } from '../../parts/act.ts'
import { rows } from '../../parts/listing.ts'
import { roleName } from '../../parts/roles.ts'
import { whenLoaded } from '../../parts/state.ts'
import { accountPath } from '../../base/session.ts'
import type { Invitation } from '../../base/shapes.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['未接受的邀请', 'Open invitations'],
  email: ['邮箱', 'E-mail'],
  role: ['角色', 'Role'],
  until: ['有效期至', 'Good until'],
  action: ['操作', 'Action'],
  revoke: ['撤销', 'Withdraw'],
  revokeOf: [(email: string) => `撤销对 ${email} 的邀请`, (email: string) => `Withdraw the invitation of ${email}`],
  revoked: ['已撤销', 'Withdrawn'],
})

export function invitationsPanel(): { view: View; again(): void } {
  const invitations = load(() => get<{ data: Invitation[] }>(`${accountPath()}/invitations`))
  const revoke = async (id: string) => {
    await send('DELETE', `${accountPath()}/invitations/${encodeURIComponent(id)}`)
    invitations.again()
    say(w.revoked())
  }
  const table = (data: Invitation[]) =>
    rows<Invitation>({
      caption: w.title(),
      keyOf: ({ id }) => id,
      rows: data,
      columns: [
        { title: w.email(), cell: ({ email }) => email },
        { title: w.role(), narrow: 'beside', cell: ({ role }) => role !== null && roleName(role) },
        { title: w.until(), cell: ({ expires_at }) => moment(expires_at) },
        {
          title: w.action(),
          narrow: 'plain',
          cell: ({ id, email }) =>
            button(
              {
                type: 'button',
                class: 'small',
                'aria-label': w.revokeOf(email),
                onClick: () => act(() => revoke(id)),
              },
              w.revoke(),
            ),
        },
      ],
    })
  return {
    again: invitations.again,
    view: () =>
      (invitations.value.value?.data.length !== 0 || invitations.failure.value !== null) &&
      section(
        { class: 'panel', 'aria-labelledby': 'invitations' },
        h2({ id: 'invitations' }, w.title()),
        whenLoaded(invitations, ({ data }) => table(data)),
      ),
  }
}
