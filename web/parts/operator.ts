/** What the operator says on every page: announcements at its top, and at its foot whose gateway it is, how to reach them, and what the law asks for. */
import { a, button, type Child, div, li, p, section, ul } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { scripted } from '../base/page.ts'
import { me } from '../base/session.ts'
import { putAnnouncementAway, putAway, site } from '../base/site.ts'
import { inLanguage, words } from '../base/words.ts'

const w = words({
  contact: ['联系运营方', 'Contact the operator'],
  contactAt: [(how: string) => `联系运营方：${how}`, (how: string) => `Contact the operator: ${how}`],
  terms: ['服务条款', 'Terms of service'],
  privacy: ['隐私政策', 'Privacy policy'],
  links: ['网站信息', 'About this site'],
  announcements: ['公告', 'Announcements'],
  away: ['知道了', 'Dismiss'],
})

/** Where every ICP filing can be looked up. */
const FILINGS = 'https://beian.miit.gov.cn/'

const out = (href: string, text: string): Child => a({ href, rel: 'noopener noreferrer' }, text)

/** How to reach the operator, as a link where that is an address; null = the operator has not said it. */
export function contact(): Child {
  if (site.value.contact === null) return null
  const how = inLanguage(site.value.contact)
  if (/^https:\/\/\S+$/.test(how)) return out(how, w.contact())
  if (/^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$/.test(how)) return a({ href: `mailto:${how}` }, w.contactAt(how))
  return w.contactAt(how)
}

export function foot(): Child {
  const { name, links, terms, privacy, icp } = site.value
  const all: Child[] = [
    contact(),
    terms !== null && out(terms, w.terms()),
    privacy !== null && out(privacy, w.privacy()),
    ...links.map(({ text, url }) => out(url, inLanguage(text))),
    icp !== null && out(FILINGS, icp),
  ].filter(one => one !== null && one !== false)
  return [
    p({}, inLanguage(name)),
    all.length > 0 &&
      ul(
        { class: 'row foot', 'aria-label': w.links() },
        all.map((one, i) => li({ key: i }, one)),
      ),
  ]
}

/** Until the reader puts them away. */
export function announcements(): Child {
  const hidden = putAway.value
  if (hidden === 'all') return null
  const all = [...site.value.announcements, ...(me.value?.announcements ?? [])]
  const shown = all.filter(({ id }) => !hidden.includes(id))
  if (shown.length === 0) return null
  return section(
    { class: 'stack announcements', 'aria-label': w.announcements() },
    shown.map(({ id, text, level }) =>
      div(
        { key: id, class: `told ${level === 'warning' ? 'warn' : 'plain'}` },
        icon(level === 'warning' ? 'alert' : 'info'),
        p({}, inLanguage(text)),
        scripted.value && button({ type: 'button', class: 'small', onClick: () => putAnnouncementAway(id) }, w.away()),
      ),
    ),
  )
}
