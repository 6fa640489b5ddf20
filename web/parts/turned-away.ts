/** What stands in the place of a page of an account that its reader cannot have: why, and what to do next. */
import { a, button, div, h2, li, p, section, ul } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { account, me, recognise } from '../base/session.ts'
import { inLanguage, words } from '../base/words.ts'
import { hrefOf } from '../base/address.ts'
import { PAGES, hrefTo, mayOpen, type PageName, type PageRow } from '../shared/sitemap.ts'
import { act } from './act.ts'
import { contact } from './operator.ts'
import { roleName } from './roles.ts'
import { empty, told } from './state.ts'

const w = words({
  role: [
    (role: string, name: string) => `您在账户“${name}”中的角色是“${role}”，没有这个页面。需要时请联系账户的所有者。`,
    (role: string, name: string) =>
      `Your role in the account “${name}” is ${role}, which does not have this page. Ask an owner of the account if you need it.`,
  ],
  open: ['您可以打开：', 'You can open:'],
  nowhere: ['您还不属于任何账户', 'You are in no account yet'],
  nowhereLead: [
    '密钥、用量和余额都属于账户。接下来可以：',
    'Keys, usage and money belong to an account. What you can do next:',
  ],
  ask: [
    (email: string) => `请账户的所有者邀请 ${email}。邀请是一个链接，打开后即可加入。`,
    (email: string) => `Ask an owner of an account to invite ${email}. The invitation is a link, which lets you in.`,
  ],
  again: ['已经接受邀请？再看一次', 'Accepted an invitation? Look again'],
  unknown: ['没有这个账户，或您不是它的成员。', 'There is no such account, or you are no member of it.'],
  yours: ['您的账户：', 'Your accounts:'],
  operator: [
    '您是网关的运营人员。运营页面不属于任何账户：',
    'You look after the gateway. The pages for that belong to no account:',
  ],
  public: ['不登录也能看的页面：', 'What everybody can read:'],
})

type Page = PageRow & { name: PageName }

const links = (pages: readonly Page[], href: (page: Page) => string) =>
  ul(
    { class: 'links plain' },
    pages.map(page => li({ key: page.path }, a({ href: href(page) }, inLanguage(page.title)))),
  )

const listed = (area: PageRow['area']) => PAGES.filter(page => page.area === area && page.listed !== false)

/** For somebody whose role lacks the page. */
export const notForRole: View = () => {
  const current = account.value
  if (current === null) return null
  const others = listed('account').filter(page => mayOpen(page, current.role))
  return div(
    { class: 'stack' },
    told('plain', p({}, w.role(roleName(current.role), current.name)), p({}, contact())),
    section(
      { class: 'panel' },
      p({}, w.open()),
      links(others, page => hrefOf(page.path)),
    ),
  )
}

/** For somebody who is in no account, or not in the one that the address names. */
export const inNoAccount: View = () => {
  const known = me.value
  if (known === null) return null
  if (known.accounts.length > 0)
    return div(
      { class: 'stack' },
      empty('users', w.unknown()),
      section(
        { class: 'panel' },
        p({}, w.yours()),
        ul(
          { class: 'links plain' },
          known.accounts.map(({ id, name }) =>
            li({ key: id }, a({ href: `${location.pathname}?account=${encodeURIComponent(id)}` }, name)),
          ),
        ),
      ),
    )
  return section(
    { class: 'panel stack', 'aria-labelledby': 'nowhere' },
    h2({ id: 'nowhere' }, w.nowhere()),
    known.operator && [p({}, w.operator()), links(listed('operator'), page => hrefTo(page.name))],
    p({}, w.nowhereLead()),
    ul({}, li({}, w.ask(known.email)), li({}, contact())),
    p({}, button({ type: 'button', class: 'main', onClick: () => act(again) }, w.again())),
    p({}, w.public()),
    links(listed('public'), page => hrefTo(page.name)),
  )
}

async function again(): Promise<void> {
  await recognise()
  if (me.value !== null && me.value.accounts.length > 0) location.reload()
}
