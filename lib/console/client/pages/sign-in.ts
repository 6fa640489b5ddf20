/** Sign in. Afterwards the reader comes to the page that asked for it. */

import { query } from '../address.ts'
import { div, p } from '../element.ts'
import type { View } from '../page.ts'
import { ownPage } from '../parts/own-page.ts'
import { signInForm } from '../parts/sign-in-form.ts'
import { words } from '../words.ts'

const w = words({
  lead: ['登录后可管理密钥、查看用量与账单。', 'Manage keys, and see usage and bills.'],
})

export default function signIn(): View {
  const form = signInForm('', () => location.assign(ownPage(query.value.get('next'))))
  return () => [p({ class: 'soft centred' }, w.lead()), div({ class: 'panel' }, form())]
}
