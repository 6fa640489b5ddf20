/** Takes the key from where the protocol has it. A missing or an empty key is an unknown one to the next stage. */
import { stage } from '../plan.ts'
import { credentialOf } from '../record/request.ts'
import { NEXT } from '../record/ending.ts'

export const credential = stage<'target', 'secret'>(x => {
  x.secret = x.target === null ? null : credentialOf(x, x.target.endpoint.placements)
  return NEXT
})
