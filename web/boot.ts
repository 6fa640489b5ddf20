/** Starts a page in the browser: takes over the document that the server has written, then draws the page into it. */
import { effect, signal } from '@preact/signals'
import { hydrate } from 'preact'
import { followAddress } from './base/address.ts'
import { Refused } from './base/ask.ts'
import { use } from './base/element.ts'
import { frame, titleOf } from './frame.ts'
import type { Given } from './shared/given.ts'
import { type Page, scripted, type View } from './base/page.ts'
import { failed } from './parts/state.ts'
import { account, me, pinAccount, recognise, signedIn } from './base/session.ts'
import { adopt, followTimes, theme } from './base/settings.ts'
import { followPutAway, putAway, site } from './base/site.ts'
import { hrefTo, isOwn, mayOpen, rowOf } from './shared/sitemap.ts'
import { language } from './base/words.ts'

const given = JSON.parse(document.getElementById('given')?.textContent ?? '') as Given
const view = signal<View | null>(null)

language.value = given.language
theme.value = given.theme
signedIn.value = given.signedIn
site.value = given.site
putAway.value = given.quiet ? 'all' : []

const { default: page } = (await import(`./pages/${given.page}.ts`)) as { default: Page<unknown> }
const root = document.getElementById('root') as HTMLElement
// what the server has drawn is taken over without a look at its attributes, so until then nothing may differ from it
if (given.drawn) view.value = page(given.data)
hydrate(
  use(() => frame(given, view.value) as never, {}),
  root,
)
scripted.value = true
if (rowOf(given.page).times === 'chosen') followTimes()
followPutAway()
followAddress()
effect(() => {
  document.title = titleOf(given)
})
await enter()
document.documentElement.dataset['ready'] = ''

/** Pages of one's own begin when the API has said who that is; nobody is sent to the page for signing in, and back. */
async function enter(): Promise<void> {
  const own = isOwn(given.page)
  try {
    const known = own || given.signedIn ? await recognise() : false
    if (own && !known) {
      location.replace(`${hrefTo('sign-in')}?next=${encodeURIComponent(location.pathname + location.search)}`)
      return
    }
    if (me.value !== null) adopt(me.value)
    if (known && rowOf(given.page).area === 'account') {
      pinAccount()
      const role = account.value?.role
      if (role === undefined || !mayOpen(rowOf(given.page), role)) {
        const { inNoAccount, notForRole } = await import('./parts/turned-away.ts')
        view.value = role === undefined ? inNoAccount : notForRole
        return
      }
    }
    view.value ??= page(given.data)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    view.value ??= own ? () => failed(error, () => location.reload()) : page(given.data)
  }
}
