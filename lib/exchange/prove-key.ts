/**
 * Finds out what an upstream refuses: its channel's key, or only what one account asks for. The gateway asks a question of its own
 * with the key, and looks whether that is refused too.
 */
import type { KeyHealth } from '../channels/health.ts'
import { upstreamRefusesKey } from '../upstream/own-request.ts'
import type { Services } from './record/services.ts'

/**
 * True when the key is refused, or when nothing can be signed with a credential that is no plain key. False also when the
 * channel or the key does not exist any more.
 */
export async function proveKey(services: Services, name: string, { secret }: KeyHealth): Promise<boolean> {
  const { pools, clock, world, signers } = services
  const channel = world.routes.channels.find(one => one.name === name)
  const key = channel?.keys.find(one => one.secret === secret)
  if (channel === undefined || key === undefined) return false
  if (key.credential !== null) return await signers.cannotSign(key)
  return await upstreamRefusesKey(pools, clock, world.config.wire, channel, key)
}
