/** People in a browser: signed in on the page for it, or with a session that they have already. */
import type { Person } from '../../../lib/base/people.ts'
import { PASSWORD } from '../../support/people.ts'
import type { Visitor } from './browser.ts'
import type { House, PersonClient } from './console.ts'

export { newPerson, PASSWORD } from '../../support/people.ts'
export { openConsole } from './console.ts'

/** Signs in as people do. `next`: the page that asked for it. */
export async function signInBrowser(
  { page, visit }: Visitor,
  at: string,
  person: Pick<Person, 'email'>,
  next = '/console/profile',
) {
  await visit(`${at}/console/sign-in?next=${encodeURIComponent(next)}`)
  await page.fill('#email', person.email)
  await page.fill('#password', PASSWORD)
  await page.click('form button[type=submit]')
  await page.waitForURL(url => url.pathname === new URL(next, at).pathname)
  await page.waitForSelector('html[data-ready]', { state: 'attached' })
}

/** Gives a browser the session of a person of the house. */
export async function giveSession(
  { context }: Visitor,
  { url }: House,
  { cookies }: Pick<PersonClient, 'cookies'>,
): Promise<void> {
  await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url, httpOnly: true })))
}
