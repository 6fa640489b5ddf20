/** Sign in. Afterwards the reader comes to the page that asked for it. */
import type { SignInData } from '../../lib/console/answers.ts'
import { query, takeFragment } from '../base/address.ts'
import { a, div, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { ownPage } from '../shared/own-page.ts'
import { contact } from '../parts/operator.ts'
import { providerForm, providerTold } from '../parts/provider.ts'
import { offerPasskeys, signInForm } from '../parts/sign-in-form.ts'
import { hrefTo } from '../shared/sitemap.ts'
import { words } from '../base/words.ts'

const w = words({
  lead: ['登录后可管理密钥、查看用量与账单。', 'Manage keys, and see usage and bills.'],
  forgotten: ['忘记密码？', 'Forgotten your password?'],
  askOperator: ['忘记密码？请联系运营方。', 'Forgotten your password? Ask the operator.'],
  register: ['注册新用户', 'Register'],
})

export default function signIn({ register, mail, oidc }: SignInData): View {
  const next = query.value.get('next')
  const challenge = takeFragment()
  const begun = challenge === null ? null : { challenge, passkey: query.value.get('passkey') !== null }
  const done = () => location.assign(ownPage(next))
  const form = signInForm('', done, begun)
  if (begun === null) void offerPasskeys(done)
  const provider = oidc === null ? null : providerForm(oidc, '/sign-in/oidc', next)
  return () => [
    p({ class: 'soft centred' }, w.lead()),
    providerTold(),
    div({ class: 'panel stack' }, form(), provider?.()),
    p(
      { class: 'soft centred' },
      mail ? a({ href: hrefTo('forgotten') }, w.forgotten()) : [w.askOperator(), ' ', contact()],
    ),
    register && p({ class: 'centred' }, a({ href: hrefTo('register') }, w.register())),
  ]
}
