/** The second factor: an app that shows codes, or passkeys, and recovery codes for the day on which these are lost. */
import { type Signal, signal } from '@preact/signals'
import type { VNode } from 'preact'
import { send } from '../../base/ask.ts'
import { button, code, div, h2, li, ol, p, section, ul } from '../../base/element.ts'
import { say, type View } from '../../base/page.ts'
import { badge } from '../../parts/badge.ts'
import { copyable, copyButton } from '../../parts/copy.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { textField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { told } from '../../parts/state.ts'
import { me, recognise } from '../../base/session.ts'
import { words } from '../../base/words.ts'

const w = words({
  title: ['两步验证', 'Two-step verification'],
  on: ['已启用', 'On'],
  off: ['未启用', 'Off'],
  lead: [
    '登录时除密码外，还需验证器应用显示的六位数字，或通行密钥。',
    'Signing in then also takes six digits that an app on your phone shows, or a passkey.',
  ],
  operators: ['运营人员必须启用两步验证才能进行更改。', 'Operators can change things only with it.'],
  start: ['启用', 'Switch on'],
  addApp: ['添加验证器应用', 'Add an app'],
  remove: ['停用', 'Switch off'],
  removeApp: ['停用验证器应用', 'Remove the app'],
  newCodes: ['重新生成恢复码', 'New recovery codes'],
  scan: ['用验证器应用扫描此二维码。', 'Scan this code with your app.'],
  picture: ['验证器应用的二维码', 'QR code for the app'],
  byHand: ['无法扫描时，可手动输入密钥：', 'If you cannot scan it, enter this key:'],
  enter: ['输入应用显示的六位数字。', 'Enter the six digits that the app shows.'],
  code: ['验证码', 'Code'],
  confirm: ['确认', 'Confirm'],
  cancel: ['取消', 'Cancel'],
  secret: ['密钥', 'Key'],
  codes: ['恢复码', 'Recovery codes'],
  codesLead: [
    '验证器或通行密钥丢失时，可用恢复码登录，每个只能使用一次。它们只显示这一次，请妥善保存。',
    'Each signs you in once when your passkey, or the app that shows codes, is lost. They are shown only now: keep them in a safe place.',
  ],
  stored: ['我已保存', 'I have kept them'],
  removed: ['两步验证已停用', 'Two-step verification is off'],
  removedApp: ['验证器应用已停用', 'The app is removed'],
  sure: ['停用后，仅凭密码即可登录。', 'A password alone will be enough to sign in.'],
  sureApp: [
    '停用后，通行密钥和恢复码仍可用于两步验证。',
    'Passkeys and recovery codes are the second step from then on.',
  ],
})

interface NewFactor {
  secret: string
  uri: string
}

type Shown = NewFactor & { picture: VNode }

interface Codes {
  recovery_codes: string[]
}

export function factorPanel(): View {
  const fresh = signal<Shown | null>(null)
  const codes = signal<string[] | null>(null)
  const removing = signal(false)

  const start = async () => {
    // what draws the picture is loaded for those who need it
    const [factor, { qr }] = await Promise.all([
      send<NewFactor>('POST', '/me/second-factor'),
      import('../../parts/qr.ts'),
    ])
    fresh.value = { ...factor, picture: qr(factor.uri, w.picture()) }
  }
  const renew = async () => {
    codes.value = (await send<Codes>('POST', '/me/recovery-codes')).recovery_codes
  }
  const remove = async () => {
    await send('DELETE', '/me/second-factor')
    removing.value = false
    await recognise()
    say(me.value?.second_factor ? w.removedApp() : w.removed())
  }
  const starting = formOf(start)
  const renewing = formOf(renew)
  const ending = formOf(remove)
  const enrol = enrolment(fresh, async got => {
    codes.value = got
    fresh.value = null
    await recognise()
  })

  return () => {
    const on = me.value?.second_factor === true
    const withApp = me.value?.authenticator === true
    const others = (me.value?.passkeys ?? 0) > 0
    const off = others ? w.removeApp() : w.remove()
    return section(
      { class: 'panel', 'aria-labelledby': 'factor' },
      div({ class: 'row' }, h2({ id: 'factor' }, w.title()), on ? badge('good', w.on()) : badge('warn', w.off())),
      p({ class: 'soft' }, w.lead()),
      me.value?.operator && !on && told('warn', w.operators()),
      div(
        { class: 'row' },
        on && renewing.view('', renewing.submit('', w.newCodes())),
        withApp
          ? button({ type: 'button', class: 'danger', onClick: () => (removing.value = true) }, off)
          : starting.view('', starting.submit(on ? '' : 'main', on ? w.addApp() : w.start())),
      ),
      fresh.value && enrol(),
      codes.value && recoveryCodes(codes.value, () => (codes.value = null)),
      removing.value &&
        dialogBox(
          off,
          () => (removing.value = false),
          p({}, others ? w.sureApp() : w.sure()),
          ending.view(
            'tall',
            buttons(
              button({ type: 'button', onClick: () => (removing.value = false) }, w.cancel()),
              ending.submit('danger main', off),
            ),
          ),
        ),
    )
  }
}

function enrolment(fresh: Signal<Shown | null>, done: (codes: string[]) => Promise<void>): View {
  const digits = signal('')
  const form = formOf(async () => {
    const { recovery_codes } = await send<Codes>('POST', '/me/second-factor/confirm', { code: digits.value.trim() })
    digits.value = ''
    await done(recovery_codes)
  })
  const close = () => (fresh.value = null)
  return () => {
    const { secret, picture } = fresh.value as Shown
    return dialogBox(
      w.title(),
      close,
      form.view(
        'tall',
        ol(
          { class: 'steps' },
          li({}, p({}, w.scan()), picture, p({ class: 'soft' }, w.byHand()), copyable(secret, w.secret())),
          li(
            {},
            textField({ name: 'code', label: w.code(), hint: w.enter(), error: form.error('code') }, digits, {
              autoComplete: 'one-time-code',
              inputMode: 'numeric',
            }),
          ),
        ),
        buttons(button({ type: 'button', onClick: close }, w.cancel()), form.submit('main', w.confirm())),
      ),
    )
  }
}

export const recoveryCodes = (codes: string[], close: () => void) =>
  dialogBox(
    w.codes(),
    null,
    p({}, w.codesLead()),
    ul(
      { class: 'codes' },
      codes.map(one => li({ key: one }, code({}, one))),
    ),
    buttons(
      copyButton(codes.join('\n'), w.codes()),
      button({ type: 'button', class: 'main', onClick: close }, w.stored()),
    ),
  )
