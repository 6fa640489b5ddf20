/** Clients that try a WebSocket first fall back to HTTP at once on 426, and only after seconds on anything else. */
import { stage } from '../plan.ts'
import { refuse } from '../refuse.ts'

export const refuseUpgrade = stage<'target', never>((x, services) => refuse(x, services, 'upgrade'))
