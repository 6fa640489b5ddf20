/**
 * An offer is one attempt of a process to write a new version of an account's rate window by compare-and-swap: the new
 * text, and what is true for this process once the store has accepted it.
 */
import type { Uses } from './uses.ts'

export interface Offer {
  text: string
  /** How many of the waiting requests get a slot. */
  granted: number
  /** Slots in hand afterwards, granted ones included. */
  inHand: number
  /** The part in which these slots are counted: the last in which they may be used. */
  until: number
  /** Few slots of the window are left. */
  near: boolean
  /** The limit under which the slots were taken. */
  limit: number
  /** The offer would change nothing, so it need not be written. */
  idle: boolean
  /** ms until a slot is free for a request that got none; 0 = all got one. */
  freeInMs: number
  /** The uses that the new text counts. */
  uses: Uses
}
