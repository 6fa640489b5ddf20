/** Who reads the usage of an account, by the role in it. */
import type { Call } from '../../api/operation.ts'
import type { Reader } from '../../operations/usage/own-usage.ts'
import type { Role } from '../../base/people.ts'
import type { ConsoleDeps } from './deps.ts'

/** Roles that see single requests; members see those of their own keys. */
export const READS_REQUESTS = ['owner', 'viewer', 'member'] as const satisfies Role[]
/** Roles that see totals; members see those of their own keys. */
export const READS_TOTALS = ['owner', 'viewer', 'billing', 'member'] as const satisfies Role[]
export const READS_MONEY = ['owner', 'viewer', 'billing'] as const satisfies Role[]
export const SETS_ALARM = ['owner', 'billing'] as const satisfies Role[]

export async function readerOf({ store }: ConsoleDeps, { account, caller }: Call): Promise<Reader> {
  const keyIds = caller.role === 'member' ? await store.keys.idsOf(account.id, caller.user!.id) : null
  return { account, keyIds }
}

/** Who is a member is for those who see all of the account. */
export const seesMembers = ({ caller: { role } }: Pick<Call, 'caller'>): boolean =>
  role === null || role === 'owner' || role === 'viewer'

/** Operators see channels and costs too, in a session of their own. */
export const seesInternals = ({ caller }: Pick<Call, 'caller'>): boolean =>
  caller.user?.operator === true && caller.tokenId === null
