/** Starts a page in the browser: takes over the document that the server has written, then draws the page into it. */
import { effect, signal } from '@preact/signals'
import { hydrate } from 'preact'
import { use } from './element.ts'
import { frame, titleOf } from './frame.ts'
import type { Given } from './given.ts'
import { type Page, scripted, type View } from './page.ts'
import { account } from './session.ts'
import { theme } from './settings.ts'
import { language } from './words.ts'

const given = JSON.parse(document.getElementById('given')?.textContent ?? '') as Given
const view = signal<View | null>(null)

language.value = given.language
theme.value = given.theme
account.value = { signedIn: given.signedIn }

const { default: page } = (await import(`./pages/${given.page}.ts`)) as { default: Page<unknown> }
const root = document.getElementById('root') as HTMLElement
// what the server has drawn is taken over as it is, and changes only afterwards
if (given.data !== null) view.value = page(given.data)
hydrate(
  use(() => frame(given, view.value) as never, {}),
  root,
)
scripted.value = true
view.value ??= page(undefined)
effect(() => {
  document.title = titleOf(given)
})
document.documentElement.dataset['ready'] = ''
