/** Who reads the usage of an account, by the role in it. */
import type { Call } from '../../api/operation.ts'
import type { Reader } from '../../operations/usage/own-usage.ts'
import type { ConsoleDeps } from './deps.ts'
import { may, seesOwnOnly } from '../../../web/shared/roles.ts'

export async function readerOf({ store }: ConsoleDeps, { account, caller }: Call): Promise<Reader> {
  const keyIds = seesOwnOnly(caller.role) ? await store.keys.idsOf(account.id, caller.user!.id) : null
  return { account, keyIds }
}

/** Who is a member is for those who see all of the account. */
export const seesMembers = ({ caller: { role } }: Pick<Call, 'caller'>): boolean =>
  role === null || may(role, 'readMembers')

/** Operators see channels and costs too, in a session of their own. */
export const seesInternals = ({ caller }: Pick<Call, 'caller'>): boolean =>
  caller.user?.operator === true && caller.tokenId === null
