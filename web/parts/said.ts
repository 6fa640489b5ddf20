/** What was said last, at the edge of the window. */
import { useState } from 'preact/hooks'
import type { VNode } from 'preact'
import { div, p, span } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { said } from '../base/page.ts'

/** `since`: what had been said up to this count is not shown. */
export const saidLast = (since = 0): VNode =>
  div(
    { class: 'notices', role: 'status', 'aria-live': 'polite' },
    said.value !== null &&
      said.value.count > since &&
      p(
        { class: said.value.kind === 'heard' ? 'unseen' : `notice ${said.value.kind}`, key: said.value.count },
        icon(said.value.kind === 'done' ? 'check' : 'alert'),
        span({}, said.value.text),
      ),
  )

/** What is said while a dialog is open: under its veil the page's own place is dim, and no screen reader reads it out. */
export function SaidInDialog(): VNode {
  const [since] = useState(() => said.peek()?.count ?? 0)
  return saidLast(since)
}
