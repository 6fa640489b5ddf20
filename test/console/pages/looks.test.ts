/**
 * How every page looks, with data: in both languages, both themes and three widths; enlarged, with wider spacing, without
 * motion and in colours of the reader's own.
 */
import t from 'tap'
import { browserTest } from '../support/browser.ts'
import { furnish } from '../support/furnished.ts'
import { calmAndForced, enlarged, everywhere, inEveryLook } from './support/everywhere.ts'

const furnished = furnish(t)

for (const own of [false, true])
  browserTest(t, own ? 'pages of somebody who is signed in' : 'pages for everybody', async (t, newcomer) => {
    await everywhere(t, await furnished, newcomer, own, async looked => {
      await inEveryLook(t, looked)
      await enlarged(t, looked)
      if (looked.first) await calmAndForced(t, looked)
    })
  })
