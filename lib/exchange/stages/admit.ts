/** Refuses a key that may not be used from this address, by this account, or in this group, and requests of our own. */
import type { KeyEntry } from '../../access/keys.ts'
import { HOPS, isLoop } from '../../terms/hops.ts'
import { stage } from '../plan.ts'
import { refuse, NEXT } from '../record/ending.ts'
import { addressOf } from '../record/request.ts'

export const admit = stage<'key', 'admitted'>((x, services) => {
  const { key, account, allow } = x.entry as KeyEntry
  if (allow !== null && !allow.has(addressOf(x))) return refuse(x, services, 'ip')
  if (isLoop(x.req.headers[HOPS], x.world.instance)) return refuse(x, services, 'loop')
  if (account.status === 'banned') return refuse(x, services, 'banned')
  if (!account.groups.includes(key.group)) return refuse(x, services, 'group', [key.group])
  return NEXT
})
