/**
 * Links that contain a secret. It stands in the fragment, which browsers send to nobody; the page takes it out of the
 * address, asks the person, and sends it in a body. So nothing that only follows links can use one up.
 */
import { HOUR_MS, MINUTE_MS } from '../../base/clock.ts'
import type { LinkKind, NewLink } from '../../store/people/records.ts'
import type { Config } from '../../config/config.ts'
import { hashOf, newToken } from '../../base/secrets.ts'

/** The page to which a link of each kind leads, below the console, and how long it works. */
const PAGES = {
  invitation: { page: 'invitation', lifeMs: 72 * HOUR_MS },
  registration: { page: 'register', lifeMs: 24 * HOUR_MS },
  reset: { page: 'reset', lifeMs: 24 * HOUR_MS },
  email: { page: 'email', lifeMs: 24 * HOUR_MS },
  'sign-in': { page: 'first-sign-in', lifeMs: 15 * MINUTE_MS },
} as const satisfies Partial<Record<LinkKind, object>>

type MailedKind = keyof typeof PAGES

/** A new link: its row for the store, and the address, which is shown once. */
export function newLink(
  config: Pick<Config, 'public'>,
  kind: MailedKind,
  atMs: number,
  about: Partial<Pick<NewLink, 'email' | 'userId' | 'accountId' | 'role' | 'operator' | 'doc'>>,
): { row: NewLink; url: string } {
  const secret = newToken()
  const { page, lifeMs } = PAGES[kind]
  const row: NewLink = {
    kind,
    hash: hashOf(secret),
    email: null,
    userId: null,
    accountId: null,
    role: null,
    operator: false,
    doc: null,
    createdAtMs: atMs,
    expiresAtMs: atMs + lifeMs,
    ...about,
  }
  return { row, url: `${config.public.main}/console/${page}#${secret}` }
}
