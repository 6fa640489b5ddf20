/**
 * The open loop: requests are sent at instants that are fixed beforehand, whatever is still unanswered, and their
 * latency is counted from these instants. So a subject that stalls is charged for every request that had to wait (no
 * coordinated omission).
 */
import { Worker } from 'node:worker_threads'
import { chance } from '../../tools/simulator/handler.ts'
import type { Beat } from './metronome.ts'
import type { Kind, Order, Outcome } from './order.ts'
import { requestsOf } from './requests.ts'
import { Tally } from './tally.ts'
import { Wire, type WireUser } from './wire.ts'

const SEED = 20_261_121
const LEAD_MS = 200

/** The kind of each request, by the shares of the kinds; the order is the same in every run. */
export function kindsInTurn(kinds: Kind[], count: number): Uint8Array {
  const next = chance(SEED)
  const all = kinds.reduce((sum, kind) => sum + (kind.share ?? 1), 0)
  return Uint8Array.from({ length: count }, () => {
    let at = next() * all
    const found = kinds.findIndex(kind => (at -= kind.share ?? 1) < 0)
    return found < 0 ? kinds.length - 1 : found
  })
}

export function runOpen(order: Order): Promise<Outcome> {
  const { kinds, requests, rate = 100, warm = 0, ports } = order
  const bytes = requestsOf(order)
  const turns = kindsInTurn(kinds, requests)
  const idle: Wire[][] = ports.map(() => [])
  const portOf = new WeakMap<Wire, number>()
  const tally = new Tally()
  const everyMs = 1000 / rate
  let sent = 0
  let finish: (outcome: Outcome) => void
  const finished = new Promise<Outcome>(resolve => {
    finish = resolve
  })
  const one = () => {
    if (++tally.done === requests) finish(tally.outcome())
  }
  const user: WireUser = {
    answered(wire) {
      if (wire.status !== (order.status ?? 200)) tally.failed++
      else if (wire.counted) tally.answered(wire.scheduledMs, wire.firstByteMs)
      one()
      idle[portOf.get(wire) as number]?.push(wire)
    },
    broke() {
      tally.failed++
      one()
    },
    ended(wire) {
      const free = idle[portOf.get(wire) as number] as Wire[]
      const at = free.indexOf(wire)
      if (at >= 0) free.splice(at, 1)
    },
  }
  const send = (i: number) => {
    const port = i % ports.length
    let wire = idle[port]?.pop()
    if (wire === undefined) {
      wire = new Wire(ports[port] as number, order.host, user)
      portOf.set(wire, port)
    }
    const kind = turns[i] as number
    const variants = bytes[kind] as Buffer[]
    wire.scheduledMs = beginMs + i * everyMs
    const { leaveMs, timed = true } = kinds[kind] as Kind
    wire.counted = timed && i >= warm
    wire.send(variants[i % variants.length] as Buffer)
    if (wire.counted) tally.late(wire.sentMs - wire.scheduledMs)
    if (leaveMs !== undefined) leaveLater(wire, leaveMs)
  }
  const leaveLater = (wire: Wire, ms: number) => {
    const scheduled = wire.scheduledMs
    setTimeout(() => {
      if (wire.scheduledMs !== scheduled || idle[portOf.get(wire) as number]?.includes(wire)) return
      wire.leave()
      tally.left++
      one()
    }, ms)
  }
  const beat: Beat = { beginNs: process.hrtime.bigint() + BigInt(LEAD_MS * 1e6), everyMs, count: requests }
  const beginMs = performance.now() + LEAD_MS
  const metronome = new Worker(new URL('./metronome.ts', import.meta.url), { workerData: beat })
  metronome.on('message', (last: number) => {
    // ticks come a little early: wait for the rest
    const dueMs = beginMs + last * everyMs
    let now = performance.now()
    for (; now < dueMs; now = performance.now());
    while (sent < requests && beginMs + sent * everyMs <= now) send(sent++)
  })
  return finished.finally(() => metronome.terminate())
}
