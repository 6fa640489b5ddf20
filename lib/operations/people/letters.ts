/** The texts of letters. Each is in both languages, the reader's first, because the sender may not know the reader. */
import type { Language } from '../../terms/people.ts'
import type { Letter } from './mail.ts'

interface Text {
  subject: string
  lines: string[]
}

const TEXTS: Record<'registration' | 'reset' | 'email' | 'invitation' | 'known', Record<Language, Text>> = {
  registration: {
    zh: { subject: '确认您的邮箱', lines: ['请打开以下链接完成注册，链接 24 小时内有效：'] },
    en: {
      subject: 'Confirm your e-mail',
      lines: ['Open this link to finish your registration. It works for 24 hours:'],
    },
  },
  known: {
    zh: { subject: '您已经注册', lines: ['有人用此邮箱申请注册，但您已经是用户。忘记密码时请在登录页申请重置：'] },
    en: {
      subject: 'You are registered already',
      lines: ['Somebody asked to register with this e-mail, and you are a user already. The page for signing in:'],
    },
  },
  reset: {
    zh: { subject: '重置密码', lines: ['请打开以下链接设置新密码，链接 24 小时内有效：'] },
    en: { subject: 'Reset your password', lines: ['Open this link to choose a new password. It works for 24 hours:'] },
  },
  email: {
    zh: { subject: '确认新的邮箱', lines: ['请打开以下链接确认更换邮箱，链接 24 小时内有效：'] },
    en: {
      subject: 'Confirm your new e-mail',
      lines: ['Open this link to use this e-mail from now on. It works for 24 hours:'],
    },
  },
  invitation: {
    zh: { subject: '邀请', lines: ['您收到一份邀请。请打开以下链接接受，链接 72 小时内有效：'] },
    en: { subject: 'An invitation', lines: ['You are invited. Open this link to accept. It works for 72 hours:'] },
  },
}

const UNASKED: Record<Language, string> = {
  zh: '如果这不是您本人的操作，请忽略本邮件。',
  en: 'If you did not ask for this, ignore this letter.',
}

export function letter(kind: keyof typeof TEXTS, to: string, url: string, language: Language): Letter {
  const order: Language[] = language === 'zh' ? ['zh', 'en'] : ['en', 'zh']
  const texts = order.map(one => ({ ...TEXTS[kind][one], end: UNASKED[one] }))
  const parts = texts.map(({ lines, end }) => [...lines, '', url, '', end, ''].join('\n'))
  return { to, subject: texts.map(({ subject }) => subject).join(' / '), text: parts.join('\n') }
}
