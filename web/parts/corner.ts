/** The upper right corner: the account of this page, the reader's own pages, language and theme. */
import { a, button, type Child, div, li, p, span, ul } from '../element.ts'
import type { Theme } from '../shared/given.ts'
import { icon } from '../icons.ts'
import { scripted } from '../page.ts'
import { account, me, signedIn, signOut } from '../session.ts'
import { chooseLanguage, chooseTheme, chooseUtc, theme } from '../settings.ts'
import { hrefTo, rowOf } from '../shared/sitemap.ts'
import { differsFromUtc, ownZone, utc, zoneName } from '../time.ts'
import { inLanguage, language, words } from '../words.ts'
import { act } from './act.ts'
import { menu } from './menu.ts'

const w = words({
  other: ['English', '中文'],
  otherLong: ['Switch to English', '切换为中文'],
  system: ['外观：跟随系统', 'Theme: as the system'],
  light: ['外观：浅色', 'Theme: light'],
  dark: ['外观：深色', 'Theme: dark'],
  signIn: ['登录', 'Sign in'],
  signOut: ['退出登录', 'Sign out'],
  switchAccount: ['切换账户', 'Switch account'],
  times: [(zone: string) => `时间：${zone}`, (zone: string) => `Times: ${zone}`],
  timesIn: [(zone: string) => `改用 ${zone} 时间`, (zone: string) => `Show times in ${zone}`],
  you: ['我的菜单', 'Your menu'],
})

const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

/** `entries`: false on the pages that lead in, which need no link to themselves. */
export const corner = (entries: boolean): Child =>
  div(
    { class: 'corner' },
    accountSwitch(),
    themeButton(),
    languageButton(),
    signedIn.value ? person() : entries && entry(),
  )

const accountSwitch = (): Child => {
  const accounts = me.value?.accounts ?? []
  const current = account.value
  if (current === null || accounts.length < 2) return null
  return menu(
    [span({ class: 'unseen' }, w.switchAccount()), span({ class: 'short' }, current.name), icon('down')],
    ul(
      { class: 'links' },
      accounts.map(({ id, name }) =>
        li(
          { key: id },
          a(
            {
              href: `${location.pathname}?account=${encodeURIComponent(id)}`,
              'aria-current': id === current.id ? 'true' : undefined,
            },
            name,
          ),
        ),
      ),
    ),
  )
}

const themeButton = (): Child =>
  button(
    {
      type: 'button',
      class: 'plain',
      disabled: !scripted.value,
      title: w[theme.value](),
      onClick: () => chooseTheme(NEXT[theme.value]),
    },
    icon(({ system: 'contrast', light: 'sun', dark: 'moon' } as const)[theme.value]),
    span({ class: 'unseen' }, w[theme.value]()),
  )

const languageButton = (): Child =>
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
    span({ class: 'roomy' }, w.other()),
  )

const entry = (): Child => a({ class: 'button small', href: hrefTo('sign-in') }, w.signIn())

const person = (): Child =>
  menu(
    [icon('user'), span({ class: 'unseen' }, w.you())],
    me.value &&
      p({ class: 'whose' }, span({ class: 'strong' }, me.value.name), span({ class: 'soft' }, me.value.email)),
    ul(
      { class: 'links' },
      (['profile', 'security'] as const).map(name =>
        li({ key: name }, a({ href: hrefTo(name) }, inLanguage(rowOf(name).title))),
      ),
    ),
    differsFromUtc() &&
      button(
        {
          type: 'button',
          class: 'plain wide',
          title: w.timesIn(utc.value ? ownZone() : 'UTC'),
          onClick: () => chooseUtc(!utc.value),
        },
        icon('clock'),
        w.times(zoneName()),
      ),
    button({ type: 'button', class: 'plain wide', onClick: () => act(signOut) }, icon('out'), w.signOut()),
  )
