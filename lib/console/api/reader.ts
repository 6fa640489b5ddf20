/** Who reads the usage of an account, by the role in it. */
import type { Call } from '../../api/operation.ts'
import type { Reader } from '../../operations/own-usage.ts'
import type { Role } from '../../terms/people.ts'

/** Roles that see single requests. */
export const READS_REQUESTS = ['owner', 'viewer'] as const satisfies Role[]
/** Roles that see totals. */
export const READS_TOTALS = ['owner', 'viewer', 'billing'] as const satisfies Role[]
export const READS_MONEY = ['owner', 'viewer', 'billing'] as const satisfies Role[]
export const SETS_ALARM = ['owner', 'billing'] as const satisfies Role[]

export const readerOf = ({ account }: Pick<Call, 'account'>): Reader => ({ account, keyIds: null })

/** Operators see channels and costs too, in a session of their own. */
export const seesInternals = ({ caller }: Pick<Call, 'caller'>): boolean =>
  caller.user?.operator === true && caller.tokenId === null
