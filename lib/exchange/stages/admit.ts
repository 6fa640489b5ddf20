/** May this key be used from here, by this account, in this group? */
import type { KeyEntry } from '../../access/keys.ts'
import { stage } from '../plan.ts'
import { DONE, NEXT } from '../verdict.ts'

export const admit = stage<'key', 'admitted'>(x => {
  const { key, account, allow } = x.entry as KeyEntry
  if (allow !== null && !allow.has(x.address)) {
    x.refuse('ip')
    return DONE
  }
  if (account.status === 'banned') {
    x.refuse('banned')
    return DONE
  }
  if (!account.groups.includes(key.group)) {
    x.refuse('group', [key.group])
    return DONE
  }
  return NEXT
})
