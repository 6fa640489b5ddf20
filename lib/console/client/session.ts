/** Who is signed in, as this page knows it. Every page has one account at a time, which stands in its address. */
import { signal } from '@preact/signals'

export interface SignedIn {
  /** Before the API has answered this is a guess from the cookie, so that the frame does not jump. */
  signedIn: boolean
}

export const account = signal<SignedIn>({ signedIn: false })
