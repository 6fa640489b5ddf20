/** What the page for signing in offers beside its form, as the config says. */
import type { Config } from '../terms/config.ts'

export interface SignInData {
  /** Whether anybody may register. */
  register: boolean
  /** Whether the gateway can send letters. */
  mail: boolean
  /** What the button for the OpenID provider says; null = there is none. */
  oidc: string | null
}

export const signInData = ({
  registration,
  smtp,
  oidc,
}: Pick<Config, 'registration' | 'smtp' | 'oidc'>): SignInData => ({
  register: registration.mode === 'open',
  mail: smtp !== null,
  oidc: oidc?.name ?? null,
})
