/**
 * What people may do in an account, by their role in it. The rows of the console's API let callers in by this table, and
 * pages offer what their reader may use.
 */
import type { Role } from '../../lib/base/people.ts'

export const MAY = {
  /** Totals of usage; who sees only their own reads those of the own keys. */
  readTotals: ['owner', 'viewer', 'billing', 'member'],
  /** Single requests; who sees only their own reads those of the own keys. */
  readRequests: ['owner', 'viewer', 'member'],
  readKeys: ['owner', 'viewer', 'member'],
  /** Balance, entries, statements and orders. */
  readMoney: ['owner', 'viewer', 'billing'],
  readMembers: ['owner', 'viewer'],
  readActions: ['owner', 'viewer'],
  makeKeys: ['owner', 'member'],
  /** Top up, and set the balance of which people want to be warned. */
  pay: ['owner', 'billing'],
  changeMembers: ['owner'],
} as const satisfies Record<string, readonly Role[]>

export type RolePower = keyof typeof MAY

/** undefined = the caller is in no account. */
export const may = (role: Role | undefined, power: RolePower): boolean =>
  role !== undefined && (MAY[power] as readonly Role[]).includes(role)

/** Members see their own keys and what was asked with them, and nobody else's. */
export const seesOwnOnly = (role: Role | null | undefined): boolean => role === 'member'
