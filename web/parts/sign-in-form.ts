/**
 * Signing in: e-mail and password, then a code where the person has a second factor. The page for it shows this form, and
 * so does the dialog over a page whose session has ended.
 */
import { signal } from '@preact/signals'
import { askOnce, Refused } from '../base/ask.ts'
import { button, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { words } from '../base/words.ts'
import { secretField, textField } from './field.ts'
import { formOf } from './form.ts'

const w = words({
  email: ['邮箱', 'E-mail'],
  password: ['密码', 'Password'],
  signIn: ['登录', 'Sign in'],
  code: ['验证码', 'Code'],
  codeHint: [
    '输入验证器应用中的六位数字，或一个恢复码。',
    'Enter the six digits that your app shows, or a recovery code.',
  ],
  goOn: ['继续', 'Go on'],
  back: ['换一个账号登录', 'Sign in as somebody else'],
})

interface Answer {
  state: 'signed_in' | 'second_factor'
  challenge: string | null
}

/**
 * `email`: filled in already. `done` is called when the session is open. `challenge`: the first step was taken at the
 * OpenID provider.
 */
export function signInForm(email: string, done: Done, challenge: string | null = null): View {
  const who = signal(email)
  const password = signal('')
  const shown = signal(false)
  const form = formOf(
    async () =>
      steps.go(await askOnce<Answer>('POST', '/sign-in', { email: who.value.trim(), password: password.value })),
    { forbidden: 'password' },
  )
  const first = () =>
    form.view(
      'tall',
      textField({ name: 'email', label: w.email(), error: form.error('email') }, who, {
        type: 'email',
        autoComplete: 'username',
        autoFocus: email === '',
        autoCapitalize: 'off',
        spellcheck: false,
      }),
      secretField({ name: 'password', label: w.password(), error: form.error('password') }, password, shown, {
        autoComplete: 'current-password',
      }),
      form.submit('main', w.signIn()),
    )
  const steps = twoSteps(done, first, challenge)
  return steps.view
}

/** The same with a link that stands for e-mail and password. */
export function linkForm(token: string, done: Done): View {
  const form = formOf(async () => steps.go(await askOnce<Answer>('POST', '/sign-in/link', { token })))
  const steps = twoSteps(done, () => form.view('tall', form.submit('main', w.signIn())))
  return steps.view
}

type Done = () => Promise<void> | void

interface Steps {
  go(answer: Answer): Promise<void>
  view: View
}

/** The first step, and then a code where the person has a second factor. */
function twoSteps(done: Done, first: View, begun: string | null = null): Steps {
  const challenge = signal(begun)
  const code = signal('')
  const go = async ({ state, challenge: next }: Answer) => {
    if (state === 'second_factor') challenge.value = next
    else await done()
  }
  const form = formOf(async () => {
    const proof = { challenge: challenge.value, code: code.value.trim() }
    try {
      await go(await askOnce<Answer>('POST', '/sign-in/second-factor', proof))
    } catch (error) {
      // the time for the second step is over: begin again
      if (error instanceof Refused && error.code === 'gone') challenge.value = null
      throw error
    }
  })
  const second = () =>
    form.view(
      'tall',
      textField({ name: 'code', label: w.code(), hint: w.codeHint(), error: form.error('code') }, code, {
        autoComplete: 'one-time-code',
        autoCapitalize: 'off',
        spellcheck: false,
        autoFocus: true,
      }),
      form.submit('main', w.goOn()),
      p({}, button({ type: 'button', class: 'link', onClick: () => (challenge.value = null) }, w.back())),
    )
  return { go, view: () => (challenge.value === null ? first() : second()) }
}
