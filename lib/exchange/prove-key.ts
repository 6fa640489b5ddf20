/** Is it the key that an upstream refuses, or what one account asks? */
import type { KeyHealth } from '../channels/health.ts'
import { refusesOwnQuestion } from '../upstream/key-probe.ts'
import type { Services } from './services.ts'

/** True when it is the key; false also when the channel or the key is gone. */
export async function proveKey(services: Services, name: string, { secret }: KeyHealth): Promise<boolean> {
  const { pools, clock, world } = services
  const channel = world.routes.channels.find(one => one.name === name)
  const key = channel?.keys.find(one => one.secret === secret)
  if (channel === undefined || key === undefined) return false
  return await refusesOwnQuestion(pools, clock, world.config.wire, channel, key)
}
