/**
 * Who sent requests, and who was refused, in an hour: what each serving process counts and the store keeps for some days. Totals by
 * reason are exact. Accounts, keys and addresses are as many as clients like to invent, so that only the most frequent are named.
 */
import type { TopTable } from '../base/top-counts.ts'

/** By what refusals are counted beside their reasons. */
export const REFUSED_BY = ['account', 'key', 'address'] as const
export type RefusedBy = (typeof REFUSED_BY)[number]

export interface Traffic {
  requests: number
  /** Refused requests by reason, which is the name of an error. */
  refused: Record<string, number>
  /** Requests by the network of the client's address: a whole IPv4 address, 64 bits of IPv6. */
  senders: TopTable
  /** Refusals by who was refused: names are `WHO REASON`, where accounts and keys are numbers of rows. */
  by: Record<RefusedBy, TopTable>
}

/** What one serving process counted in one hour. */
export interface TrafficHour {
  /** Counted from 1970 in UTC. */
  hour: number
  traffic: Traffic
}

export const SENDER_REASON = ' '
