/** Shown where the console has no page. */
import { a, div, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { words } from '../base/words.ts'

const w = words({
  lead: ['地址可能有误，或页面已移走。', 'The address may be mistyped, or the page has moved.'],
  home: ['回到首页', 'To the first page'],
})

export default function missing(): View {
  return () =>
    div(
      { class: 'stack' },
      p({ class: 'lead' }, w.lead()),
      p({}, a({ class: 'button main', href: '/console' }, w.home())),
    )
}
