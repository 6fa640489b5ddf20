/** A button that copies a text, and a text with such a button. */
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { button, code, div, figcaption, figure, pre, span } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { say, scripted } from '../base/page.ts'
import { words } from '../base/words.ts'

const w = words({
  copy: ['复制', 'Copy'],
  copied: ['已复制', 'Copied'],
  selected: [
    '浏览器不允许复制：文本已选中，请按复制快捷键',
    'The browser does not allow it: the text is selected, press the copy shortcut',
  ],
})

const SHOWN_MS = 2_000
/** What was copied a moment ago: its button says so where the reader looks. */
const taken = signal<string | null>(null)

/** `name`: what is copied, for screen readers, where several such buttons stand on a page. */
export const copyButton = (text: string, name: string): VNode =>
  button(
    {
      type: 'button',
      class: 'small copy',
      hidden: !scripted.value,
      'aria-label': `${taken.value === text ? w.copied() : w.copy()} ${name}`,
      onClick: event => copy(text, event.currentTarget, 'heard'),
    },
    icon(taken.value === text ? 'check' : 'copy'),
    span({}, taken.value === text ? w.copied() : w.copy()),
  )

export const copyable = (text: string, name: string): VNode =>
  div({ class: 'copyable' }, code({}, text), copyButton(text, name))

/** A text of several lines under its name. */
export const snippet = (text: string, name: string): VNode =>
  figure(
    { class: 'snippet' },
    figcaption({}, span({}, name), copyButton(text, name)),
    pre({ tabIndex: 0, role: 'group', 'aria-label': name }, code({}, text)),
  )

/** `from`: where the text stands, which is selected for the reader where a page may not write it. `kind`: how it is said that it is copied. */
export async function copy(text: string, from: HTMLElement, kind: 'done' | 'heard' = 'done'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    taken.value = text
    setTimeout(() => {
      if (taken.value === text) taken.value = null
    }, SHOWN_MS)
    say(w.copied(), kind)
  } catch {
    // only pages from a secure address may write: the reader copies what is selected
    const shown = from.closest('.snippet, .copyable')?.querySelector('code')
    if (shown) getSelection()?.selectAllChildren(shown)
    say(w.selected(), 'failed')
  }
}
