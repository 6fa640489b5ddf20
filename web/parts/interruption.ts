/** The dialog over a page when a call cannot go on: the session has ended, or the caller has to prove who it is. */
import { signal } from '@preact/signals'
import { askOnce, type Interruption, interruption } from '../base/ask.ts'
import { button, type Child, p } from '../base/element.ts'
import { scripted, type View } from '../base/page.ts'
import { me, recognise } from '../base/session.ts'
import { words } from '../base/words.ts'
import { buttons, dialogBox } from './dialog.ts'
import { secretField, textField } from './field.ts'
import { formOf } from './form.ts'
import { whereProvider } from './provider.ts'
import { askForPasskey, passkeyForm, signInForm } from './sign-in-form.ts'

const w = words({
  ended: ['请重新登录', 'Sign in again'],
  endedLead: [
    '登录已失效。重新登录后，此页面上的内容会保留，操作会继续。',
    'You were signed out. What you entered stays here, and goes on when you are signed in again.',
  ],
  prove: ['请确认是您本人', 'Confirm that it is you'],
  proveLead: ['此操作需要再次验证身份，十分钟内有效。', 'This needs a fresh proof. It then holds for ten minutes.'],
  password: ['密码', 'Password'],
  code: ['验证码', 'Code'],
  usePasskey: ['使用通行密钥', 'Use a passkey'],
  useCode: ['改用验证码', 'Use a code instead'],
  usePassword: ['改用密码', 'Use the password instead'],
  confirm: ['确认', 'Confirm'],
  cancel: ['取消', 'Cancel'],
})

/** The dialog that is drawn: one for each interruption, so that its fields begin empty. */
let drawn: { of: Interruption; view: View } | null = null

export function interruptionDialog(): Child {
  const current = interruption.value
  if (current === null || !scripted.value) {
    drawn = null
    return null
  }
  if (drawn?.of !== current) drawn = { of: current, view: current.kind === 'sign-in' ? again(current) : prove(current) }
  return drawn.view()
}

function again(current: Interruption): View {
  const form = signInForm(me.value?.email ?? '', async () => {
    await recognise()
    current.end(true)
  })
  const provider = whereProvider('/sign-in/oidc')
  return () => dialogBox(w.ended(), () => current.end(false), p({ class: 'soft' }, w.endedLead()), form(), provider())
}

function prove(current: Interruption): View {
  const withCode = signal(me.value?.authenticator === true || me.value?.has_password === false)
  const secret = signal('')
  const shown = signal(false)
  const form = formOf(async () => {
    await askOnce(
      'POST',
      '/sign-in/step-up',
      withCode.value ? { code: secret.value.trim() } : { password: secret.value },
    )
    current.end(true)
  })
  const passkey = passkeyForm(w.usePasskey, async () => {
    const proof = await askForPasskey('/sign-in/step-up/passkey/challenge')
    await askOnce('POST', '/sign-in/step-up', { passkey: proof })
    current.end(true)
  })
  const both = () => me.value?.second_factor === true && me.value.has_password
  // who has no password proves it where it is known
  const provider = me.value?.has_password === true ? null : whereProvider('/sign-in/step-up/oidc')
  const cancel = () => button({ type: 'button', onClick: () => current.end(false) }, w.cancel())
  if (me.value?.has_password !== true && me.value?.second_factor !== true)
    return () =>
      dialogBox(
        w.prove(),
        () => current.end(false),
        p({ class: 'soft' }, w.proveLead()),
        provider?.(),
        buttons(cancel()),
      )
  return () =>
    dialogBox(
      w.prove(),
      () => current.end(false),
      p({ class: 'soft' }, w.proveLead()),
      form.view(
        'tall',
        withCode.value
          ? textField({ name: 'proof', label: w.code(), error: form.error('proof') }, secret, {
              autoComplete: 'one-time-code',
              autoFocus: true,
            })
          : secretField({ name: 'proof', label: w.password(), error: form.error('proof') }, secret, shown, {
              autoComplete: 'current-password',
              autoFocus: true,
            }),
        both() &&
          button(
            {
              type: 'button',
              class: 'link',
              onClick: () => {
                withCode.value = !withCode.value
                secret.value = ''
              },
            },
            withCode.value ? w.usePassword() : w.useCode(),
          ),
        buttons(cancel(), form.submit('main', w.confirm())),
      ),
      (me.value?.passkeys ?? 0) > 0 && passkey(),
      provider?.(),
    )
}
