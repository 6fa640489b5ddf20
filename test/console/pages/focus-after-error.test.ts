/**
 * A form drew what is wrong with a field and moved the focus there a frame later. What a reader typed meanwhile, on a slow
 * machine for long, went into the field where the focus had been.
 */
// The bug behind these rows: focus that comes after the error.
import t from 'tap'
import { browserTest } from '../support/browser.ts'
import { openConsole } from '../support/pages.ts'

browserTest(t, 'the field that is wrong has the focus as soon as the error is drawn', async (t, newcomer) => {
  const { url } = await openConsole(t)
  const { page, visit } = await newcomer({ language: 'en-US' })
  await visit(`${url}/console/sign-in`)
  await page.fill('#password', 'a password')
  await page.evaluate('window.requestAnimationFrame = () => 0') // a frame that never comes
  await page.keyboard.press('Enter')
  await page.locator('#email-error').waitFor()
  await page.keyboard.type('ada@example.org')
  t.equal(await page.locator('#email').inputValue(), 'ada@example.org')
  t.equal(await page.locator('#password').inputValue(), 'a password')
})
