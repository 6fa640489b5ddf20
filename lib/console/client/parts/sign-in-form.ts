/**
 * Signing in: e-mail and password, then a code where the person has a second factor. The page for it shows this form, and
 * so does the dialog over a page whose session has ended.
 */
import { signal } from '@preact/signals'
import { askOnce, Refused } from '../ask.ts'
import { button, p } from '../element.ts'
import type { View } from '../page.ts'
import { words } from '../words.ts'
import { secretField, textField } from './field.ts'
import { formOf } from './form.ts'

const w = words({
  email: ['邮箱', 'E-mail'],
  password: ['密码', 'Password'],
  signIn: ['登录', 'Sign in'],
  code: ['验证码', 'Code'],
  codeHint: [
    '输入验证器应用中的六位数字,或一个恢复码。',
    'Enter the six digits that your app shows, or a recovery code.',
  ],
  goOn: ['继续', 'Go on'],
  back: ['换一个账号登录', 'Sign in as somebody else'],
})

interface Answer {
  state: 'signed_in' | 'second_factor'
  challenge: string | null
}

/** `email`: filled in already. `done` is called when the session is open. */
export function signInForm(email: string, done: () => Promise<void> | void): View {
  const challenge = signal<string | null>(null)
  const who = signal(email)
  const password = signal('')
  const shown = signal(false)
  const code = signal('')

  const go = async ({ state, challenge: next }: Answer) => {
    if (state === 'second_factor') challenge.value = next
    else await done()
  }
  const first = formOf(async () =>
    go(await askOnce<Answer>('POST', '/sign-in', { email: who.value.trim(), password: password.value })),
  )
  const second = formOf(async () => {
    try {
      await go(
        await askOnce<Answer>('POST', '/sign-in/second-factor', {
          challenge: challenge.value,
          code: code.value.trim(),
        }),
      )
    } catch (error) {
      // the time for the second half is over: begin again
      if (error instanceof Refused && error.code === 'gone') challenge.value = null
      throw error
    }
  })

  return () =>
    challenge.value === null
      ? first.view(
          'tall',
          textField({ name: 'email', label: w.email(), error: first.error('email') }, who, {
            type: 'email',
            autoComplete: 'username',
            autoCapitalize: 'off',
            spellcheck: false,
          }),
          secretField({ name: 'password', label: w.password(), error: first.error('password') }, password, shown, {
            autoComplete: 'current-password',
          }),
          first.submit('main', w.signIn()),
        )
      : second.view(
          'tall',
          textField({ name: 'code', label: w.code(), hint: w.codeHint(), error: second.error('code') }, code, {
            autoComplete: 'one-time-code',
            autoCapitalize: 'off',
            spellcheck: false,
            autoFocus: true,
          }),
          second.submit('main', w.goOn()),
          p({}, button({ type: 'button', class: 'link', onClick: () => (challenge.value = null) }, w.back())),
        )
}
