/**
 * A menu that unfolds from a button: native `<details>`, so it works with the keyboard by itself. It folds again when the
 * focus or a click goes elsewhere, and with Escape.
 */
import type { VNode } from 'preact'
import { type Child, details, div, summary } from '../element.ts'

const folding = (node: HTMLElement | null): (() => void) | undefined => {
  if (!(node instanceof HTMLDetailsElement)) return undefined
  const elsewhere = (event: Event) => {
    if (!node.contains(event.target as Node)) node.open = false
  }
  const fold = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !node.open) return
    node.open = false
    node.querySelector('summary')?.focus()
  }
  document.addEventListener('pointerdown', elsewhere)
  document.addEventListener('focusin', elsewhere)
  node.addEventListener('keydown', fold)
  return () => {
    document.removeEventListener('pointerdown', elsewhere)
    document.removeEventListener('focusin', elsewhere)
    node.removeEventListener('keydown', fold)
  }
}

export const menu = (name: Child, ...content: Child[]): VNode =>
  details({ class: 'menu', ref: folding }, summary({}, name), div({ class: 'sheet' }, content))
