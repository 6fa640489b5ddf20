/** Refuses a WebSocket with 426. Clients that try one first then use HTTP at once; after any other answer they wait for seconds. */
import { stage } from '../plan.ts'
import { refuse } from '../record/ending.ts'

export const refuseUpgrade = stage<'target', never>((x, services) => refuse(x, services, 'upgrade'))
