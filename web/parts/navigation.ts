/** The lists of links to pages. */
import { hrefOf } from '../address.ts'
import { a, type Child, div, li, p, span, ul } from '../element.ts'
import { type Icon, icon } from '../icons.ts'
import { me } from '../session.ts'
import { type Area, hrefTo, PAGES, type PageName } from '../shared/sitemap.ts'
import { inLanguage, words } from '../words.ts'

const w = words({
  account: ['账户', 'Account'],
  person: ['个人', 'You'],
  operator: ['运营', 'Operations'],
  public: ['公开信息', 'Reference'],
})

export const navigation = (current: PageName, area: Area): Child =>
  ul(
    { class: 'links' },
    PAGES.filter(page => page.area === area && page.listed !== false).map(page =>
      li(
        { key: page.name },
        a(
          {
            href: area === 'account' ? hrefOf(page.path) : hrefTo(page.name),
            'aria-current': page.name === current ? 'page' : undefined,
          },
          page.icon !== undefined && icon(page.icon as Icon),
          span({}, inLanguage(page.title)),
        ),
      ),
    ),
  )

export const sideNavigation = (current: PageName): Child =>
  (['account', 'person', 'operator', 'public'] as const)
    .filter(area => area !== 'operator' || me.value?.operator === true)
    .filter(area => PAGES.some(page => page.area === area && page.listed !== false))
    .map(area => div({ key: area }, p({ class: 'over' }, w[area]()), navigation(current, area)))
