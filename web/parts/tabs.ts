/**
 * Panels of which one is shown. The arrow keys go from tab to tab, as readers of screens expect. Without a script every
 * panel is shown, one under the other (style/unscripted.css).
 */
import type { Signal } from '@preact/signals'
import type { VNode } from 'preact'
import { button, type Child, div, h3 } from '../base/element.ts'

export interface Tab {
  id: string
  title: string
  panel: () => Child
}

/** `group`: an id that no other tabs of the page have. `chosen`: the id of the tab in front. */
export function tabs(group: string, name: string, chosen: Signal<string>, all: readonly Tab[]): VNode {
  const front = all.some(tab => tab.id === chosen.value) ? chosen.value : all[0]?.id
  const go = (event: KeyboardEvent, at: number) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key]
    const next = to === undefined ? undefined : all[(to + all.length) % all.length]
    if (next === undefined) return
    event.preventDefault()
    chosen.value = next.id
    document.getElementById(`${group}-${next.id}`)?.focus()
  }
  return div(
    { class: 'tabs' },
    div(
      { role: 'tablist', 'aria-label': name },
      all.map(({ id, title }, at) =>
        button(
          {
            key: id,
            id: `${group}-${id}`,
            type: 'button',
            role: 'tab',
            'aria-selected': id === front ? 'true' : 'false',
            'aria-controls': `${group}-${id}-panel`,
            tabIndex: id === front ? 0 : -1,
            onClick: () => (chosen.value = id),
            onKeyDown: event => go(event, at),
          },
          title,
        ),
      ),
    ),
    all.map(({ id, title, panel }) =>
      div(
        {
          key: id,
          id: `${group}-${id}-panel`,
          role: 'tabpanel',
          'aria-labelledby': `${group}-${id}`,
          hidden: id !== front,
        },
        h3({ class: 'unseen' }, title),
        panel(),
      ),
    ),
  )
}
