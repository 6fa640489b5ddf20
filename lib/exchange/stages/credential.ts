/** Takes the key from where the protocol reads it. None found, or an empty one, is an unknown key to the next stage. */
import { stage } from '../plan.ts'
import { credentialOf } from '../request.ts'
import { NEXT } from '../verdict.ts'

export const credential = stage<'target', 'secret'>(x => {
  x.secret = x.target === null ? null : credentialOf(x, x.target.endpoint.placements)
  return NEXT
})
