/** The operator's name and words as the config has them, and which announcements the reader has put away. */
import { signal } from '@preact/signals'
import type { ShownSite } from '../shared/given.ts'

/** The server writes it into every document, and it does not change while a page is open. */
export const site = signal<ShownSite>({
  zone: 'UTC',
  name: { zh: '', en: '' },
  about: null,
  logo: null,
  contact: null,
  terms: null,
  privacy: null,
  icp: null,
  links: [],
  languages: [],
  register: false,
  announcements: [],
})

/** Ids of announcements; `all`: some are put away, and until the script has read which, none is shown. */
export const putAway = signal<readonly string[] | 'all'>([])

const COOKIE = 'put_away'
const BETWEEN = '.'
/** The cookie stays small: what was put away long ago is over. */
const MOST = 40

/** After the document is taken over: the server has not read which they are. */
export function followPutAway(): void {
  const found = new RegExp(`(?:^|; )${COOKIE}=([\\w.]*)`).exec(document.cookie)?.[1] ?? ''
  putAway.value = found.split(BETWEEN).filter(id => id !== '')
}

export function putAnnouncementAway(id: string): void {
  const before = putAway.value === 'all' ? [] : putAway.value
  putAway.value = [...before, id].slice(-MOST)
  keepCookie(COOKIE, putAway.value.join(BETWEEN))
}

const YEAR_SECONDS = 31_536_000

/** A cookie of this console for a year. */
export function keepCookie(name: string, value: string): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: Firefox knows no other way below version 140
  document.cookie = `${name}=${value}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax${secure}`
}
