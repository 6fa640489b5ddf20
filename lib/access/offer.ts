import type { Uses } from './uses.ts'

/** A rate window as one process would like the store to have it, and what it means for that process. */
export interface Offer {
  text: string
  /** Of those who wait, how many got a slot. */
  granted: number
  /** In hand when the store has taken it, those that are granted included. */
  inHand: number
  until: number
  near: boolean
  limit: number
  /** Nothing would change. */
  idle: boolean
  /** ms until a slot is free for who got none. */
  freeInMs: number
  /** Uses that the text counts. */
  uses: Uses
}
