/** What the page for signing in offers beside its form, as the config says. */
import type { Config } from '../terms/config.ts'

export interface SignInData {
  /** Whether anybody may register. */
  register: boolean
  /** Whether the gateway can send letters. */
  mail: boolean
}

export const signInData = ({ registration, smtp }: Pick<Config, 'registration' | 'smtp'>): SignInData => ({
  register: registration.mode === 'open',
  mail: smtp !== null,
})
