/** Hands the exchange to a relay, which asks the candidates and passes the answer on. */

import { stage } from '../plan.ts'
import { Relay } from '../relay/relay.ts'
import { DONE } from '../record/ending.ts'

export const dispatch = stage<'body' | 'model', never>((x, services) => {
  if (!x.left) new Relay(x, services).start()
  return DONE
})
