/** Who is signed in, as this page knows it, and the account that the page is about. */
import { computed, signal } from '@preact/signals'
import type { Me } from '../../lib/console/answers.ts'
import { query, setQuery } from './address.ts'
import { askOnce, Refused } from './ask.ts'

export type { Me }
export type OwnAccount = Me['accounts'][number]

/**
 * Whether somebody is signed in. Before the API has answered this is a guess from the cookie, so that the frame does not
 * jump.
 */
export const signedIn = signal(false)

/** null until the API has answered, and for people who are not signed in. */
export const me = signal<Me | null>(null)

/** The account in the address; one's first account where the address names none. null = the user is in no account. */
export const account = computed<OwnAccount | null>(() => {
  const named = query.value.get('account')
  const accounts = me.value?.accounts ?? []
  return (named === null ? accounts[0] : accounts.find(({ id }) => id === named)) ?? null
})

/** Where the calls about the account of this page begin. */
export const accountPath = (): string => `/accounts/${encodeURIComponent(account.value?.id ?? '-')}`

/** Asks who is signed in. False = nobody is. */
export async function recognise(): Promise<boolean> {
  try {
    me.value = await askOnce<Me>('GET', '/me')
    signedIn.value = true
  } catch (error) {
    me.value = null
    if (error instanceof Refused && error.code === 'signed_out') signedIn.value = false
    else throw error
  }
  return signedIn.value
}

/** Writes the account of this tab into its address. */
export function pinAccount(): void {
  const first = me.value?.accounts[0]
  if (first !== undefined && query.value.get('account') === null) setQuery({ account: first.id })
}

export async function signOut(): Promise<void> {
  await askOnce('POST', '/sign-out')
  location.assign('/console')
}
