/** What the operator tells readers at the top of every page, until they put it away. */
import { button, div, p, section } from '../base/element.ts'
import type { Child } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { scripted } from '../base/page.ts'
import { me } from '../base/session.ts'
import { putAnnouncementAway, putAway, site } from '../base/site.ts'
import { inLanguage, words } from '../base/words.ts'

const w = words({
  announcements: ['公告', 'Announcements'],
  away: ['知道了', 'Put away'],
})

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
