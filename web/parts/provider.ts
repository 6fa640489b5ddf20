/** The way to the OpenID provider: its button, and what became of the way when the browser is back. */
import type { VNode } from 'preact'
import { query } from '../base/address.ts'
import { askOnce, get } from '../base/ask.ts'
import type { Child } from '../base/element.ts'
import { load } from '../base/load.ts'
import type { View } from '../base/page.ts'
import { words } from '../base/words.ts'
import { formOf } from './form.ts'
import { told } from './state.ts'

const w = words({
  goOn: [(name: string) => `使用 ${name} 继续`, (name: string) => `Continue with ${name}`],
})

const bad = words({
  again: ['登录请求已过期，请重试。', 'That took too long, or was begun in another browser. Begin again.'],
  unknown: [
    '此身份未关联任何用户。请先用密码登录，再在“安全”页面关联。',
    'No user here is linked to that identity. Sign in with your password first, and link it on the page Security.',
  ],
  refused: [
    '身份提供方确认的不是您本人，或此操作未被允许。',
    'The provider vouches for somebody else, or this is not allowed.',
  ],
  failed: ['身份提供方没有确认登录，请重试。', 'The provider did not confirm who you are. Try again.'],
  taken: ['此身份已关联到一个用户。', 'That identity is linked to a user already.'],
})

const good = words({
  linked: ['已关联，以后可以用它登录。', 'Linked: you can sign in with it from now on.'],
  proven: ['身份已确认，请继续刚才的操作。', 'You have proven who you are: go on with what you were doing.'],
})

const has = <T extends object>(texts: T, name: string): name is keyof T & string => Object.hasOwn(texts, name)

/** What the way led to, as the address says. */
export function providerTold(): VNode | null {
  const end = query.value.get('oidc') ?? ''
  if (has(good, end)) return told('good', good[end]())
  return has(bad, end) ? told('bad', bad[end]()) : null
}

/** `path`: the call that begins the way. `next`: the page to which it leads back. */
export function providerForm(name: string, path: string, next: string | null): View {
  const form = formOf(async () => {
    const { url } = await askOnce<{ url: string }>('POST', path, next === null ? {} : { next })
    location.assign(url)
  })
  return () => form.view('tall', form.submit('', w.goOn(name)))
}

/** The same for a dialog, which has to ask first whether there is a provider. The way leads back to this page. */
export function whereProvider(path: string): View {
  const ways = load(() => get<{ oidc: string | null }>('/sign-in'))
  let form: View | null = null
  return (): Child => {
    const name = ways.value.value?.oidc ?? null
    if (name === null) return null
    form ??= providerForm(name, path, location.pathname + location.search)
    return form()
  }
}
