/** What every page has around it: brand, navigation, settings, heading, footer, and the place where results are said. */
import type { VNode } from 'preact'
import { a, type Child, details, div, footer, h1, header, main, nav, p, span, summary } from './element.ts'
import type { Given } from './shared/given.ts'
import { icon } from './icons.ts'
import { actions, heading, said, type View } from './page.ts'
import { corner } from './parts/corner.ts'
import { interruptionDialog } from './parts/interruption.ts'
import { navigation, sideNavigation } from './parts/navigation.ts'
import { signedIn } from './session.ts'
import { HOME, hrefTo, rowOf } from './shared/sitemap.ts'
import { inLanguage, words } from './words.ts'

const w = words({
  name: ['模型网关', 'Model gateway'],
  skip: ['跳到内容', 'Skip to the content'],
  menu: ['菜单', 'Menu'],
  dismiss: ['知道了', 'Dismiss'],
})

export const titleOf = (given: Given): string => `${heading.value ?? inLanguage(rowOf(given.page).title)} · ${w.name()}`

/** `view`: null while the page's module is on its way. */
export function frame(given: Given, view: View | null): Child {
  const row = rowOf(given.page)
  const side = row.area !== 'entry' && signedIn.value
  return div(
    { class: `frame ${row.area}${side ? ' sided' : ''}`, id: 'top' },
    a({ class: 'skip', href: '#main' }, w.skip()),
    header(
      { class: 'top' },
      a({ class: 'brand', href: hrefTo(HOME) }, mark(), span({}, w.name())),
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
      div(
        { class: 'heading' },
        h1({}, heading.value ?? inLanguage(row.title)),
        actions.value && div({ class: 'actions' }, actions.value()),
      ),
      view === null ? div({ class: 'waiting', 'aria-hidden': 'true' }) : view(),
    ),
    footer({ class: 'bottom' }, p({}, w.name())),
    notice(),
    interruptionDialog(),
  )
}

const notice = (): VNode =>
  div(
    { class: 'notices', role: 'status', 'aria-live': 'polite' },
    said.value &&
      p(
        { class: `notice ${said.value.kind}`, key: said.value.count },
        icon(said.value.kind === 'done' ? 'check' : 'alert'),
        span({}, said.value.text),
      ),
  )

const mark = (): VNode => span({ class: 'mark', 'aria-hidden': 'true' })
