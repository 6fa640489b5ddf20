/** Rounds of small JSON on one gateway, in turns with nobody beside it and with something going on: what that costs the relay. */
import { loadRightly, orderFor } from '../kinds/context.ts'
import { median } from '../report/statistics.ts'
import type { Probed } from './probed.ts'
import { chatBody } from './workloads.ts'

const BODY_BYTES = 200
const WARM_S = 1

export interface Round {
  p50Ms: number
  p99Ms: number
  cpuUs: number
  threadUs: number
}

/** Requests at a fixed rate, `rate` a second. */
export async function round(subject: Probed, rate: number, seconds: number): Promise<Round> {
  const requests = rate * seconds
  const kinds = [{ body: chatBody(BODY_BYTES, false) }]
  const before = await subject.read()
  const outcome = await loadRightly(orderFor(subject, { mode: 'open', kinds, requests, warm: rate * WARM_S, rate }))
  const after = await subject.read()
  const cpuUs = (after.userUs + after.systemUs - before.userUs - before.systemUs) / requests
  const threadUs = ((after.mainThreadUs ?? 0) - (before.mainThreadUs ?? 0)) / requests
  return { p50Ms: outcome.p50us / 1000, p99Ms: outcome.p99us / 1000, cpuUs, threadUs }
}

/** A table of medians. `work`: what goes on beside the requests. */
export function besideTable(alone: readonly Round[], beside: readonly Round[], nobody: string, work: string): string[] {
  const row = (what: string, of: (round: Round) => number, digits: number) => {
    const ratio = median(alone.map((one, i) => of(beside[i] as Round) / of(one)))
    const [before, after] = [alone, beside].map(all => median(all.map(of)).toFixed(digits))
    return `| ${what} | ${before} | ${after} | ${ratio.toFixed(2)} |`
  }
  return [
    `| small JSON | ${nobody} | ${work} | ratio |`,
    '|---|---|---|---|',
    row('latency, ms, p50', one => one.p50Ms, 3),
    row('latency, ms, p99', one => one.p99Ms, 3),
    row('CPU µs of the thread that relays, per request', one => one.threadUs, 1),
    row('CPU µs of all threads per request, the work for the console included', one => one.cpuUs, 1),
  ]
}
