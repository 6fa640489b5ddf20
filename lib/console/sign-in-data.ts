/** What the page for signing in offers beside its form, as the config says. */
import type { Config } from '../config/config.ts'

export interface SignInData {
  /** Whether anybody may register. */
  register: boolean
  /** Whether the gateway can send letters. */
  mail: boolean
  /** What the button for the OpenID provider says; null = there is none. */
  oidc: string | null
}

let latest: SignInData | null = null

/** The same object as long as it says the same, so that the page is written once. */
export function signInData({ registration, smtp, oidc }: Pick<Config, 'registration' | 'smtp' | 'oidc'>): SignInData {
  const data = { register: registration.mode === 'open', mail: smtp !== null, oidc: oidc?.name ?? null }
  if (latest?.register !== data.register || latest.mail !== data.mail || latest.oidc !== data.oidc) latest = data
  return latest
}
