/** What was done to the reader's ways in: an operator made a reset link, say. It stays until the reader dismisses it. */

import { send } from '../base/ask.ts'
import { li, ul } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { me, recognise } from '../base/session.ts'
import { stamp } from '../base/time.ts'
import { words } from '../base/words.ts'
import { formOf } from './form.ts'
import { told } from './state.ts'

const w = words({
  reset_link: [
    (at: string) => `${at}，运营人员为您生成了密码重置链接。`,
    (at: string) => `An operator made a link to reset your password at ${at}.`,
  ],
  factor_reset: [
    (at: string) => `${at}，运营人员停用了您的两步验证。`,
    (at: string) => `An operator switched your two-step verification off at ${at}.`,
  ],
  passkeys_kept: [
    (at: string) => `${at}，您的密码已重置，通行密钥仍可用于第二步验证。请在“安全”页面删除不认识的通行密钥。`,
    (at: string) =>
      `Your password was reset at ${at}, and your passkeys are still a second step: on the page Security, delete those that you do not know.`,
  ],
  read: ['知道了', 'Dismiss'],
})

export function notices(): View {
  const form = formOf(async () => {
    await send('DELETE', '/me/notices')
    await recognise()
  })
  return () => {
    const all = me.value?.notices ?? []
    if (all.length === 0) return null
    return told(
      'warn',
      ul(
        {},
        all.map(({ kind, at }) => li({ key: `${kind} ${at}` }, w[kind](stamp(at)))),
      ),
      form.view('', form.submit('small', w.read())),
    )
  }
}
