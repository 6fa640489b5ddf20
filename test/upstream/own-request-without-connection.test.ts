/**
 * Whether an upstream refuses a key is asked by a request of our own, and not waited for longer than ten seconds. When all
 * connections were taken the request waited, was given up, and was sent all the same when a connection came free, with no
 * time-out at all.
 */
// The bug behind these rows: a question nobody waits for.

import t from 'tap'
import type { Dispatcher } from 'undici'
import { upstreamRefusesKey } from '../../lib/upstream/own-request.ts'
import { World } from '../../lib/world/world.ts'
import { open } from '../exchange/support/gateway.ts'

t.test('a pool without a free connection', async t => {
  const s = await open(t)
  const world = new World(s.services.world.config, await s.services.store.catalogue.read())
  const channel = world.routes.channels[0]!
  let handler: Dispatcher.DispatchHandler | null = null
  const pools = { of: () => ({ dispatch: (_: object, given: Dispatcher.DispatchHandler) => void (handler = given) }) }
  const answer = upstreamRefusesKey(pools as never, s.clock, {}, channel, channel.keys[0]!)
  s.clock.advance(10_001)
  t.equal(await answer, false)
  const aborted: Error[] = []
  const controller = { abort: (error: Error) => aborted.push(error) }
  handler!.onRequestStart?.(controller as never, {})
  t.equal(aborted.length, 1, 'it is not sent any more')
})
