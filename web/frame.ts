/** What every page has around it: brand, navigation, settings, heading, footer, and the place where results are said. */
import { signal } from '@preact/signals'
import { hrefOf, query } from './base/address.ts'
import { interruption } from './base/ask.ts'
import {
  type Child,
  a,
  details,
  div,
  footer,
  h1,
  header,
  img,
  label,
  li,
  main,
  nav,
  option,
  p,
  select,
  span,
  summary,
  ul,
} from './base/element.ts'
import { type Icon, icon } from './base/icons.ts'
import { type View, actions, heading, scripted } from './base/page.ts'
import { account, me, signedIn } from './base/session.ts'
import { chooseTimes } from './base/settings.ts'
import { site } from './base/site.ts'
import { TIMES, type Times, times, zoneName, zoneOf } from './base/time.ts'
import { inLanguage, words } from './base/words.ts'
import { corner } from './parts/corner.ts'
import { announcements, foot } from './parts/operator.ts'
import { saidLast } from './parts/said.ts'
import type { Given } from './shared/given.ts'
import { type Area, HOME, PAGES, type PageName, type PageRow, hrefTo, mayOpen, rowOf } from './shared/sitemap.ts'
import type { VNode } from 'preact'

const w = words({
  skip: ['跳到内容', 'Skip to the content'],
  menu: ['菜单', 'Menu'],
  zone: ['时区', 'Times in'],
})

export const titleOf = (given: Given): string =>
  `${heading.value?.() ?? inLanguage(rowOf(given.page).title)} · ${inLanguage(site.value.name)}`

/** `view`: null while the page's module is on its way. */
export function frame(given: Given, view: View | null): Child {
  const row = rowOf(given.page)
  const side = row.area !== 'entry' && signedIn.value
  const zone = row.times !== undefined && zoneLine(row.times === 'chosen')
  const zoneFirst = row.periods === true || (row.deadline !== undefined && query.value.has(row.deadline))
  return div(
    { class: `frame ${row.area}${side ? ' sided' : ''}${row.wide === true ? ' wide' : ''}`, id: 'top' },
    a({ class: 'skip', href: '#main' }, w.skip()),
    header(
      { class: 'top' },
      a({ class: 'brand', href: hrefTo(HOME) }, mark(), span({}, inLanguage(site.value.name))),
      row.area !== 'entry' &&
        !side &&
        nav({ class: 'across', 'aria-label': w.menu() }, navigation(given.page, 'public')),
      corner(row.area !== 'entry'),
    ),
    row.area !== 'entry' &&
      details(
        { class: 'folded' },
        summary({}, icon('menu'), span({}, w.menu())),
        nav({ 'aria-label': w.menu() }, side ? sideNavigation(given.page) : navigation(given.page, 'public')),
      ),
    side && nav({ class: 'side', 'aria-label': w.menu() }, div({ class: 'stuck' }, sideNavigation(given.page))),
    main(
      { id: 'main', tabIndex: -1 },
      announcements(),
      div(
        { class: 'heading' },
        h1({}, heading.value?.() ?? inLanguage(row.title)),
        actions.value && div({ class: 'actions' }, actions.value()),
        zoneFirst && zone,
      ),
      view === null ? div({ class: 'waiting', 'aria-hidden': 'true' }) : view(),
      !zoneFirst && zone,
    ),
    footer({ class: 'bottom' }, foot()),
    saidLast(),
    overPage(),
  )
}

/** Most readers never see it, so it is loaded when it is needed. */
const dialog = signal<View | null>(null)

function overPage(): Child {
  if (dialog.value !== null) return dialog.value()
  const current = interruption.value
  if (current !== null)
    import('./parts/interruption.ts').then(
      ({ interruptionDialog }) => {
        dialog.value = interruptionDialog
      },
      () => current.end(false),
    )
  return null
}

const mark = (): VNode =>
  site.value.logo === null
    ? span({ class: 'mark', 'aria-hidden': 'true' })
    : img({ class: 'logo', src: site.value.logo, alt: '' })

const areas = words({
  account: ['账户', 'Account'],
  person: ['个人', 'You'],
  operator: ['运营', 'Operations'],
  public: ['公开信息', 'Reference'],
})

export const navigation = (current: PageName, area: Area): Child =>
  ul(
    { class: 'links' },
    PAGES.filter(page => page.area === area && page.listed !== false && isShown(page)).map(page =>
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

/** Links of all roles are there as long as the API has not said who the reader is. */
const isShown = (page: PageRow): boolean => me.value === null || mayOpen(page, account.value?.role)

const sideNavigation = (current: PageName): Child =>
  (['account', 'person', 'operator', 'public'] as const)
    .filter(area => area !== 'operator' || me.value?.operator === true)
    .filter(area => PAGES.some(page => page.area === area && page.listed !== false && isShown(page)))
    .map(area => div({ key: area }, p({ class: 'over' }, areas[area]()), navigation(current, area)))

/** UTC has many names. */
const plain = (which: Times): string => zoneOf(which).replace(/^(Etc\/)?(UTC|GMT|UCT|Universal|Zulu)$/, 'UTC')

/** The choices that differ: the browser may be in the zone of the books. */
const zones = (): Times[] => TIMES.filter((which, at) => TIMES.findIndex(other => plain(other) === plain(which)) === at)

/** The zone of the page's times. `chosen`: whether the reader can choose; money by days and months has the days of the books. */
function zoneLine(chosen: boolean): Child {
  const all = scripted.value && chosen ? zones() : []
  if (all.length < 2) return p({ class: 'soft' }, `${w.zone()} `, zoneName())
  return p(
    { class: 'soft row zone' },
    label({ for: 'zone' }, w.zone()),
    select(
      { id: 'zone', value: times.value, onChange: event => chooseTimes(event.currentTarget.value as Times) },
      all.map(which =>
        option({ key: which, value: which, selected: plain(which) === plain(times.value) }, plain(which)),
      ),
    ),
  )
}
