/**
 * What a page is. Its module exports by default a function that is called once, makes the page's signals and returns what
 * draws it; a signal that is read while drawing draws the page again when it changes.
 *
 *     export default function status(): View {
 *       const open = signal(false)
 *       return () => div({}, button({ onClick: () => (open.value = !open.value) }, w.more()), open.value && p({}, w.all()))
 *     }
 */
import { signal } from '@preact/signals'
import type { Child } from './element.ts'

export type View = () => Child

/** `data`: what the server wrote into the document; undefined for pages that ask the API. */
export type Page<D = undefined> = (data: D) => View

/** The heading where a page has a better one than its title in the table of pages: the name of what it shows, in the language of the moment. */
export const heading = signal<(() => string) | null>(null)

/** What stands beside the heading: the page's first action. */
export const actions = signal<View | null>(null)

/** How something is said. `heard`: what was pressed shows it already, so that only screen readers are told. */
type Saying = 'done' | 'failed' | 'heard'

/** A sentence that is shown at the edge of the page and read out by screen readers. */
export const said = signal<{ text: string; kind: Saying; count: number } | null>(null)

export function say(text: string, kind: Saying = 'done'): void {
  said.value = { text, kind, count: (said.value?.count ?? 0) + 1 }
}

/** False until the script runs: what needs it is hidden or says so. */
export const scripted = signal(false)
