/**
 * A dialog over the page. Its first field has the focus, or the safe button of a confirmation. The browser keeps the focus inside, gives it back afterwards, and closes it with Escape. Who
 * shows it decides by drawing it or not: `shown.value && dialogBox(…)`.
 */
import type { VNode } from 'preact'
import { button, type Child, dialog, div, h2, span, use } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { words } from '../base/words.ts'
import { SaidInDialog } from './said.ts'

const w = words({
  close: ['关闭', 'Close'],
})

/** What is to be filled in; of several choices the one that is made. */
const FIELD = 'input:not([type=radio]:not(:checked)), select, textarea'
/** The button that changes nothing. */
const SAFE = '.buttons button:not(.main, .danger)'

/** One function for all, so that drawing a page again does not open its dialog again. */
const openModal = (node: HTMLDialogElement | null): (() => void) | undefined => {
  if (node === null) return undefined
  if (!node.open) {
    node.showModal()
    const first = node.querySelector<HTMLElement>(FIELD) ?? node.querySelector<HTMLElement>(SAFE)
    first?.focus()
  }
  return () => node.close()
}

/** `close`: null = the dialog has to be answered by one of its buttons. */
export const dialogBox = (title: string, close: (() => void) | null, ...content: Child[]): VNode =>
  dialog(
    {
      // a dialog that takes the place of another one is a new element, which takes the focus
      key: title,
      ref: openModal,
      'aria-label': title,
      onCancel: event => {
        event.preventDefault()
        close?.()
      },
    },
    div(
      { class: 'dialog' },
      div(
        { class: 'spread' },
        h2({}, title),
        close &&
          button(
            { type: 'button', class: 'plain', onClick: close },
            icon('close'),
            span({ class: 'unseen' }, w.close()),
          ),
      ),
      content,
    ),
    use(SaidInDialog, {}),
  )

export const buttons = (...content: Child[]): VNode => div({ class: 'buttons' }, content)
