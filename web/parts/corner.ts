/** The upper right corner: the account of this page, the reader's own pages, language and theme. */

import { act } from './act.ts'
import type { VNode } from 'preact'
import { type Child, a, button, details, div, li, p, span, summary, ul } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { scripted } from '../base/page.ts'
import { account, me, signOut, signedIn } from '../base/session.ts'
import { chooseLanguage, chooseTheme, theme } from '../base/settings.ts'
import { site } from '../base/site.ts'
import { inLanguage, language, words } from '../base/words.ts'
import type { Theme } from '../shared/given.ts'
import { hrefTo, rowOf } from '../shared/sitemap.ts'

const w = words({
  other: ['English', '中文'],
  otherLong: ['Switch to English', '切换为中文'],
  system: ['外观：跟随系统', 'Theme: as the system'],
  light: ['外观：浅色', 'Theme: light'],
  dark: ['外观：深色', 'Theme: dark'],
  signIn: ['登录', 'Sign in'],
  signOut: ['退出登录', 'Sign out'],
  switchAccount: ['切换账户', 'Switch account'],
  you: ['我的菜单', 'Your menu'],
})

const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

/** `entries`: false on the pages that lead in, which need no link to themselves. */
export const corner = (entries: boolean): Child =>
  div(
    { class: 'corner' },
    accountSwitch(),
    themeButton(),
    site.value.languages.length > 1 && languageButton(),
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
    button({ type: 'button', class: 'plain wide', onClick: () => act(signOut) }, icon('out'), w.signOut()),
  )

/**
 * Makes a menu that unfolds from a button fold again when the focus or a click goes elsewhere, and with Escape. It is a native
 * `<details>`, so it works with the keyboard by itself.
 */
const folding = (node: HTMLElement | null): (() => void) | undefined => {
  if (!(node instanceof HTMLDetailsElement)) return undefined
  const elsewhere = (event: Event) => {
    if (!node.contains(event.target as Node)) node.open = false
  }
  const fold = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !node.open) return
    node.open = false
    node.querySelector('summary')?.focus()
  }
  document.addEventListener('pointerdown', elsewhere)
  document.addEventListener('focusin', elsewhere)
  node.addEventListener('keydown', fold)
  return () => {
    document.removeEventListener('pointerdown', elsewhere)
    document.removeEventListener('focusin', elsewhere)
    node.removeEventListener('keydown', fold)
  }
}

export const menu = (name: Child, ...content: Child[]): VNode =>
  details({ class: 'menu', ref: folding }, summary({}, name), div({ class: 'sheet' }, content))
