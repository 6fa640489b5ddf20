/** The upper right corner: language and theme. */
import type { Child } from '../element.ts'
import { button, div, span } from '../element.ts'
import type { Theme } from '../given.ts'
import { icon } from '../icons.ts'
import { scripted } from '../page.ts'
import { chooseLanguage, chooseTheme, theme } from '../settings.ts'
import { language, words } from '../words.ts'

const w = words({
  other: ['English', '中文'],
  otherLong: ['Switch to English', '切换为中文'],
  auto: ['外观:跟随系统', 'Theme: as the system'],
  light: ['外观:浅色', 'Theme: light'],
  dark: ['外观:深色', 'Theme: dark'],
})

const NEXT: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' }

export const corner = (): Child =>
  div(
    { class: 'corner' },
    button(
      {
        type: 'button',
        class: 'plain',
        disabled: !scripted.value,
        title: w[theme.value](),
        onClick: () => chooseTheme(NEXT[theme.value]),
      },
      icon(({ auto: 'contrast', light: 'sun', dark: 'moon' } as const)[theme.value]),
      span({ class: 'unseen' }, w[theme.value]()),
    ),
    button(
      {
        type: 'button',
        class: 'plain',
        disabled: !scripted.value,
        lang: language.value === 'zh' ? 'en' : 'zh-CN',
        'aria-label': w.otherLong(),
        onClick: () => chooseLanguage(language.value === 'zh' ? 'en' : 'zh'),
      },
      icon('globe'),
      span({}, w.other()),
    ),
  )
