/** Team: who is in the account and as what, and who is invited. Owners change it, viewers see the members. */
import { signal } from '@preact/signals'
import { query, setQuery } from '../base/address.ts'
import { get } from '../base/ask.ts'
import { button, div, span } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { type Loaded, load } from '../base/load.ts'
import { actions, type View } from '../base/page.ts'
import { badge } from '../parts/badge.ts'
import { searchField } from '../parts/field.ts'
import { type ListPage, listing } from '../parts/listing.ts'
import { roleName } from '../parts/roles.ts'
import { empty } from '../parts/state.ts'
import { account, accountPath, me } from '../base/session.ts'
import type { Member } from '../base/shapes.ts'
import { words } from '../base/words.ts'
import { invitationsPanel } from './team/invitations.ts'
import { inviteDialog } from './team/invite.ts'
import { memberDialog } from './team/member.ts'
import { may } from '../shared/roles.ts'

const w = words({
  members: ['成员', 'Members'],
  member: ['成员', 'Member'],
  role: ['角色', 'Role'],
  factor: ['两步验证', 'Two-step verification'],
  on: ['已启用', 'On'],
  off: ['未启用', 'Off'],
  disabled: ['已停用', 'Disabled'],
  you: ['您', 'You'],
  action: ['操作', 'Action'],
  edit: ['更改', 'Change'],
  editOf: [(name: string) => `更改 ${name}`, (name: string) => `Change ${name}`],
  invite: ['邀请成员', 'Invite somebody'],
  find: ['按姓名或邮箱查找', 'Find by name or e-mail'],
  nobody: ['没有符合条件的成员。', 'No member matches.'],
  clear: ['清除筛选', 'Clear the filter'],
})

export default function team(): View {
  const members = load(() =>
    get<ListPage<Member>>(`${accountPath()}/members`, {
      q: query.value.get('q'),
      after: query.value.get('after'),
    }),
  )
  const chosen = signal<Member | null>(null)
  const inviting = signal(false)
  const owner = may(account.value?.role, 'changeMembers')
  const invitations = owner ? invitationsPanel() : null
  if (owner)
    actions.value = () =>
      button({ type: 'button', class: 'main', onClick: () => (inviting.value = true) }, icon('plus'), w.invite())
  const invite = inviteDialog(
    () => (inviting.value = false),
    () => invitations?.again(),
  )
  const change = memberDialog(chosen, members.again)
  return () => [
    memberList(members, owner ? member => (chosen.value = member) : null),
    invitations?.view(),
    inviting.value && invite(),
    chosen.value && change(),
  ]
}

const memberList = (members: Loaded<ListPage<Member>>, edit: ((member: Member) => void) | null) =>
  listing<Member>({
    caption: w.members(),
    loaded: members,
    keyOf: ({ id }) => id,
    bar: searchField('q', w.find()),
    empty: () =>
      empty(
        'users',
        w.nobody(),
        button({ type: 'button', onClick: () => setQuery({ q: null, after: null }) }, w.clear()),
      ),
    columns: [
      {
        title: w.member(),
        cell: ({ id, name, email, status }) => [
          div(
            { class: 'row' },
            span({}, name),
            id === me.value?.id && badge('plain', w.you()),
            status === 'disabled' && badge('bad', w.disabled()),
          ),
          span({ class: 'under' }, email),
        ],
      },
      { title: w.role(), narrow: 'beside', cell: ({ role }) => roleName(role) },
      {
        title: w.factor(),
        cell: ({ second_factor }) => (second_factor ? badge('good', w.on()) : badge('warn', w.off())),
      },
      edit !== null && {
        title: w.action(),
        narrow: 'plain',
        cell: member =>
          button(
            { type: 'button', class: 'small', 'aria-label': w.editOf(member.name), onClick: () => edit(member) },
            w.edit(),
          ),
      },
    ],
  })
