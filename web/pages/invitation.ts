/** An invitation: says into what, and is accepted by a button. Nothing is used up by looking. */
import { signal } from '@preact/signals'
import { askOnce, Refused } from '../base/ask.ts'
import { button, type Child, dd, div, dl, dt, p } from '../base/element.ts'
import { load } from '../base/load.ts'
import type { View } from '../base/page.ts'
import { dialogBox } from '../parts/dialog.ts'
import { formOf } from '../parts/form.ts'
import { linkPage } from '../parts/link-page.ts'
import { newPerson } from '../parts/new-person.ts'
import { roleName, rolePower } from '../parts/roles.ts'
import { signInForm } from '../parts/sign-in-form.ts'
import { whenLoaded } from '../parts/state.ts'
import type { Invited } from '../base/shapes.ts'
import { hrefTo, START } from '../shared/sitemap.ts'
import { moment } from '../base/time.ts'
import { words } from '../base/words.ts'

const w = words({
  account: ['账户', 'Account'],
  none: ['暂不加入任何账户', 'None yet'],
  role: ['角色', 'Role'],
  operator: ['运营人员', 'Operator'],
  email: ['邮箱', 'E-mail'],
  until: ['有效期至', 'Good until'],
  accept: ['接受邀请', 'Accept'],
  lead: ['设置姓名和密码，即可加入。', 'Choose a name and a password to join.'],
  known: ['已有用户？请先登录', 'You have a user already? Sign in first'],
  signIn: ['登录', 'Sign in'],
  signedIn: ['将以当前登录的用户加入。', 'You join as the user who is signed in.'],
})

export default (): View =>
  linkPage(token => {
    const invitation = load(() => askOnce<Invited>('POST', '/invitations/look', { token }))
    const person = newPerson()
    const signing = signal(false)
    const form = formOf(async () => {
      const known = invitation.value.value?.signed_in === true
      try {
        await askOnce('POST', '/invitations/accept', { token, ...(!known && person.filled()) })
      } catch (error) {
        // the e-mail has a user: only that user may accept
        if (error instanceof Refused && error.code === 'forbidden') signing.value = true
        throw error
      }
      location.assign(hrefTo(START))
    })
    const signIn = signInForm('', () => {
      signing.value = false
      invitation.again()
    })
    return () =>
      div(
        { class: 'panel' },
        whenLoaded(invitation, invited => [
          facts(invited),
          p({ class: 'soft' }, invited.signed_in ? w.signedIn() : w.lead()),
          form.view('tall', !invited.signed_in && person.fields(form), form.submit('main', w.accept())),
          !invited.signed_in &&
            button({ type: 'button', class: 'link', onClick: () => (signing.value = true) }, w.known()),
        ]),
        signing.value && dialogBox(w.signIn(), () => (signing.value = false), signIn()),
      )
  })

const facts = ({ email, account, role, operator, expires_at }: Invited): Child =>
  dl(
    { class: 'pairs' },
    dt({}, w.email()),
    dd({}, email),
    !operator && [dt({}, w.account()), dd({}, account ?? w.none())],
    (operator || role !== null) && [
      dt({}, w.role()),
      dd({}, operator ? w.operator() : role !== null && [roleName(role), p({ class: 'soft' }, rolePower(role))]),
    ],
    dt({}, w.until()),
    dd({}, moment(expires_at)),
  )
