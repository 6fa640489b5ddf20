/**
 * The closed loop: each connection sends its next request when the last one is answered. It shows the most that a
 * subject can do.
 */
import type { Order, Outcome } from './order.ts'
import { requestsOf } from './requests.ts'
import { Tally } from './tally.ts'
import { Wire, type WireUser } from './wire.ts'

export function runClosed(order: Order): Promise<Outcome> {
  const variants = requestsOf(order)[0] as Buffer[]
  const tally = new Tally()
  let started = 0
  let finish: (outcome: Outcome) => void
  const finished = new Promise<Outcome>(resolve => {
    finish = resolve
  })
  const next = (wire: Wire) => {
    if (started >= order.requests) wire.leave()
    else wire.send(variants[started++ % variants.length] as Buffer)
  }
  const one = () => {
    if (++tally.done === order.requests) finish(tally.outcome())
  }
  const user: WireUser = {
    answered(wire) {
      if (wire.status !== (order.status ?? 200)) tally.failed++
      tally.answered(wire.sentMs, wire.firstByteMs)
      one()
      next(wire)
    },
    broke() {
      tally.failed++
      one()
      open()
    },
    ended: () => open(),
  }
  let opened = 0
  const open = () => {
    if (started < order.requests) next(new Wire(order.ports[opened++ % order.ports.length] as number, order.host, user))
  }
  const { connections = 1, rampMs = 0 } = order
  for (let i = 0; i < Math.min(connections, order.requests); i++)
    if (rampMs === 0) open()
    else setTimeout(open, (i / connections) * rampMs)
  return finished
}
