/** Bench of lib/channels/pick.ts: takes the first channel for a request and gives it back. */
import { deepEqual } from 'node:assert/strict'
import type * as ClockModule from '../../lib/base/clock.ts'
import type { Claim } from '../../lib/channels/health.ts'
import type * as HealthModule from '../../lib/channels/health.ts'
import type * as PickModule from '../../lib/channels/pick.ts'
import type { Route } from '../../lib/world/table.ts'
import type * as TableModule from '../../lib/world/table.ts'
import { channel } from '../../test/channels/support.ts'
import { type Random, withSeed } from '../../test/support/random.ts'
import type { Bench, Case, Lib } from './bench.ts'

const CHECKS = 4096

export const bench: Bench = async (lib, seed) => {
  const cases: Case[] = []
  for (const count of [1, 4, 32]) {
    const setUp = await routeOf(lib, count)
    cases.push(subject(`${count} channels, by chance`, setUp, count, withSeed(seed), false))
    cases.push(subject(`${count} channels, by conversation`, setUp, count, withSeed(seed), true))
  }
  return cases
}

type Take = (affinity: number | null, random: () => number) => Claim

/** Channels of one priority, with weights from 1 to 4 and one key each. */
async function routeOf(lib: Lib, count: number): Promise<Take> {
  const { systemClock } = await lib<typeof ClockModule>('base/clock.ts')
  const { Health } = await lib<typeof HealthModule>('channels/health.ts')
  const { Candidates } = await lib<typeof PickModule>('channels/pick.ts')
  const { compileRoutes } = await lib<typeof TableModule>('world/table.ts')
  const channels = Array.from({ length: count }, (_, i) => channel(`channel-${i}`, { weight: 1 + (i % 4) }))
  const routes = compileRoutes({ channels })
  const health = new Health({ clock: systemClock, onAuthFailure: () => {} })
  health.keep(routes.channels)
  const route = routes.find('default', 'm', 'chat') as Route
  return (affinity, random) => new Candidates(route, health, affinity, random).next() as Claim
}

function subject(name: string, take: Take, count: number, random: Random, sticky: boolean): Case {
  const once = (affinity: number) => {
    const claim = take(sticky ? affinity : null, random.next)
    claim.release()
    return claim.candidate.channel.name
  }
  let conversation = 0
  return {
    name,
    check() {
      const first = Array.from({ length: CHECKS }, (_, i) => once(i))
      deepEqual(new Set(first).size, count)
      if (sticky)
        deepEqual(
          Array.from(first, (_, i) => once(i)),
          first,
        )
    },
    run: () => once(conversation++ | 0).length,
  }
}
