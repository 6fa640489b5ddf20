/** Hands the exchange to its relay: attempts over the candidates, then the bytes. */

import { stage } from '../plan.ts'
import { Relay } from '../relay/relay.ts'
import { DONE } from '../verdict.ts'

export const dispatch = stage<'body' | 'model', never>((x, services) => {
  if (!x.left) new Relay(x, services).start()
  return DONE
})
