/** Sign in. Afterwards the reader comes to the page that asked for it. */
import type { SignInData } from '../../sign-in-data.ts'
import { query } from '../address.ts'
import { a, div, p } from '../element.ts'
import type { View } from '../page.ts'
import { ownPage } from '../parts/own-page.ts'
import { signInForm } from '../parts/sign-in-form.ts'
import { hrefTo } from '../sitemap.ts'
import { words } from '../words.ts'

const w = words({
  lead: ['登录后可管理密钥、查看用量与账单。', 'Manage keys, and see usage and bills.'],
  forgotten: ['忘记密码？', 'Forgotten your password?'],
  askOperator: ['忘记密码？请联系运营人员。', 'Forgotten your password? Ask an operator.'],
  register: ['注册新用户', 'Register'],
})

export default function signIn({ register, mail }: SignInData): View {
  const form = signInForm('', () => location.assign(ownPage(query.value.get('next'))))
  return () => [
    p({ class: 'soft centred' }, w.lead()),
    div({ class: 'panel' }, form()),
    p({ class: 'soft centred' }, mail ? a({ href: hrefTo('forgotten') }, w.forgotten()) : w.askOperator()),
    register && p({ class: 'centred' }, a({ href: hrefTo('register') }, w.register())),
  ]
}
