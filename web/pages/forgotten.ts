/** Asks for a letter with a link to a new password. What it says does not tell whether anybody has that e-mail. */
import { a, p } from '../base/element.ts'
import type { View } from '../base/page.ts'
import { askEmail } from '../parts/ask-email.ts'
import { hrefTo } from '../shared/sitemap.ts'
import { words } from '../base/words.ts'

const w = words({
  lead: [
    '输入登录邮箱，我们会发送设置新密码的链接。没有收到？请联系运营方。',
    'Enter the e-mail that you sign in with, and a link to a new password goes there. Nothing comes? Ask an operator.',
  ],
  sent: [
    '如果该邮箱已注册，邮件已发出，链接 24 小时内有效。',
    'If that e-mail belongs to a user, a letter is on its way. Its link works for 24 hours.',
  ],
  back: ['返回登录', 'Back to signing in'],
})

export default function forgotten(): View {
  const asked = askEmail('/resets', w)
  return () => [asked(), p({ class: 'centred' }, a({ href: hrefTo('sign-in') }, w.back()))]
}
