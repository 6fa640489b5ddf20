/**
 * What stands in the page's address: filters and the account. Filters live there, so that a view can be sent to somebody
 * and the browser's own history works on them; and the account lives there, so that two tabs never mix.
 */
import { signal } from '@preact/signals'

/** The query of the address. What reads it while it renders is rendered again when it changes. */
export const query = signal(new URLSearchParams())

/** Reads the address, and goes on reading it when the reader goes back or forward. */
export function followAddress(): void {
  const read = () => {
    query.value = new URLSearchParams(location.search)
  }
  read()
  addEventListener('popstate', read)
}

/** Changes some parameters; null and '' remove one. `push`: the browser's "back" leads to what was there before. */
export function setQuery(changes: Record<string, string | null>, push = false): void {
  const next = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  const at = `${location.pathname}${text === '' ? '' : `?${text}`}`
  if (push) history.pushState({ depth: depth() + 1 }, '', at)
  else history.replaceState(history.state, '', at)
  query.value = next
}

/** How many pages of a list the reader has turned; 0 = this page was the first that was opened. */
export const depth = (): number => Number(history.state?.depth ?? 0)

/** The address of a page, for the account of this page. `path`: below `/console`, with its steps encoded. */
export function hrefOf(path: string, parameters: Record<string, string> = {}): string {
  const account = query.value.get('account')
  const all = new URLSearchParams({ ...(account !== null && { account }), ...parameters }).toString()
  return `/console${path}${all === '' ? '' : `?${all}`}`
}

/** Secrets are longer than the names of places in a page, which stand in fragments too. */
const SECRET = /^#[\w-]{20,}$/

/**
 * Takes a secret out of the fragment, so that it stays neither in the address nor in the history. null = there is none.
 * A link that is opened where its page is open already changes the fragment only, so the page begins again.
 */
export function takeFragment(): string | null {
  addEventListener('hashchange', () => SECRET.test(location.hash) && location.reload())
  if (!SECRET.test(location.hash)) return null
  const secret = location.hash.slice(1)
  history.replaceState(history.state, '', location.pathname + location.search)
  return secret
}
