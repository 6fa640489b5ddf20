/**
 * Signing in: e-mail and password, then a code or a passkey where the person has a second factor; or a passkey alone. The page for it
 * shows this form, and so does the dialog over a page whose session has ended.
 */
import { signal } from '@preact/signals'
import { askOnce, Refused } from '../base/ask.ts'
import { button, p } from '../base/element.ts'
import { say, scripted, type View } from '../base/page.ts'
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
  byPasskey: ['使用通行密钥登录', 'Sign in with a passkey'],
  usePasskey: ['使用通行密钥', 'Use a passkey'],
  back: ['换一个账号登录', 'Sign in as somebody else'],
})

const ADDRESS_OF_A_MACHINE = /^[\d.]+$|^\[/

/**
 * Whether this browser has passkeys on this page: it comes by https from the name of a host, or from this machine as `localhost`.
 * Browsers of before 2025 cannot read what the API gives.
 */
export const passkeysWork = (): boolean =>
  typeof PublicKeyCredential === 'function' &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function' &&
  !ADDRESS_OF_A_MACHINE.test(location.hostname)

interface Answer {
  state: 'signed_in' | 'second_factor'
  challenge: string | null
  passkey: boolean
}

/** A sign-in whose second step is to come. */
export type Begun = { challenge: string; passkey: boolean }

/**
 * `email`: filled in already. `done` is called when the session is open. `begun`: the first step was taken at the OpenID
 * provider.
 */
export function signInForm(email: string, done: Done, begun: Begun | null = null): View {
  const who = signal(email)
  const password = signal('')
  const shown = signal(false)
  const form = formOf(
    async () =>
      steps.go(await askOnce<Answer>('POST', '/sign-in', { email: who.value.trim(), password: password.value })),
    { forbidden: 'password' },
  )
  const passkey = passkeyForm(w.byPasskey, async () => signInBy(await askForPasskey(CHALLENGE), done))
  const first = () => [
    form.view(
      'tall',
      textField({ name: 'email', label: w.email(), error: form.error('email') }, who, {
        type: 'email',
        autoComplete: 'username webauthn',
        autoFocus: email === '',
        autoCapitalize: 'off',
        spellcheck: false,
      }),
      secretField({ name: 'password', label: w.password(), error: form.error('password') }, password, shown, {
        autoComplete: 'current-password',
      }),
      form.submit('main', w.signIn()),
    ),
    passkey(),
  ]
  const steps = twoSteps(done, first, begun)
  return steps.view
}

const CHALLENGE = '/sign-in/passkey/challenge'

export const askForPasskey = async (path: string, body?: object): Promise<object> =>
  (await import('./passkey.ts')).passkeyFor(path, body)

async function signInBy(passkey: object, done: Done): Promise<void> {
  await askOnce<Answer>('POST', '/sign-in/passkey', { passkey })
  await done()
}

/** Where an e-mail is entered, the browser offers passkeys too. */
export async function offerPasskeys(done: Done): Promise<void> {
  if (!passkeysWork()) return
  try {
    const passkey = await (await import('./passkey.ts')).passkeyOffered(CHALLENGE)
    if (passkey !== null) await signInBy(passkey, done)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    say(error.message, 'failed')
  }
}

/** A button by which the browser asks for a passkey; nothing where it has none. */
export function passkeyForm(text: () => string, use: () => Promise<void>): View {
  const form = formOf(use)
  return () => scripted.value && passkeysWork() && form.view('tall', form.submit('', text()))
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

/** The first step, and then a code or a passkey where the person has a second factor. */
function twoSteps(done: Done, first: View, start: Begun | null = null): Steps {
  const begun = signal(start)
  const code = signal('')
  const go = async ({ challenge, passkey }: Answer) => {
    if (challenge !== null) begun.value = { challenge, passkey }
    else await done()
  }
  const finish = async (proof: object) => {
    try {
      await go(await askOnce<Answer>('POST', '/sign-in/second-factor', { challenge: begun.value?.challenge, ...proof }))
    } catch (error) {
      // the time for the second step is over: begin again
      if (error instanceof Refused && error.code === 'gone') begun.value = null
      throw error
    }
  }
  const form = formOf(() => finish({ code: code.value.trim() }))
  const passkey = passkeyForm(w.usePasskey, async () => {
    const challenge = begun.value?.challenge
    await finish({ passkey: await askForPasskey(CHALLENGE, { challenge }) })
  })
  const second = () => [
    form.view(
      'tall',
      textField({ name: 'code', label: w.code(), hint: w.codeHint(), error: form.error('code') }, code, {
        autoComplete: 'one-time-code',
        autoCapitalize: 'off',
        spellcheck: false,
        autoFocus: true,
      }),
      form.submit('main', w.goOn()),
      p({}, button({ type: 'button', class: 'link', onClick: () => (begun.value = null) }, w.back())),
    ),
    begun.value?.passkey && passkey(),
  ]
  return { go, view: () => (begun.value === null ? first() : second()) }
}
