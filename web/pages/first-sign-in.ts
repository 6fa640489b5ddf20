/** Signing in by the link that `npm start` prints on this machine: once, and by a button. */
import { div, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { linkPage } from '../parts/link-page.ts'
import { linkForm } from '../parts/sign-in-form.ts'
import { hrefTo, START } from '../shared/sitemap.ts'
import { words } from '../base/words.ts'

const w = words({
  lead: [
    '此链接只能使用一次，并且只能在运行网关的机器上使用。',
    'This link works once, and only on the machine on which the gateway runs.',
  ],
})

export default (): View =>
  linkPage(token => {
    const form = linkForm(token, () => location.assign(hrefTo(START)))
    return () => div({ class: 'panel' }, p({ class: 'soft' }, w.lead()), form())
  })
