/**
 * Pages to which a link with a secret leads. The secret stands in the fragment, which browsers send to nobody; the page
 * takes it out of the address and uses it only when the reader has pressed the button.
 */

import { takeFragment } from '../base/address.ts'
import { a, div, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { hrefTo } from '../shared/sitemap.ts'
import { words } from '../base/words.ts'
import { told } from './state.ts'

const w = words({
  none: [
    '链接不完整：请从邮件或消息中完整地打开它。',
    'The link is not whole: open it from the letter or message as it stands there.',
  ],
  signIn: ['前往登录页', 'Go to the sign-in page'],
})

export function linkPage(view: (token: string) => View): View {
  const token = takeFragment()
  if (token !== null) return view(token)
  return () => [div({ class: 'panel' }, told('bad', w.none())), toSignIn()]
}

export const toSignIn = () => p({ class: 'centred' }, a({ href: hrefTo('sign-in') }, w.signIn()))
