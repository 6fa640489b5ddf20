/**
 * Times cases by the CPU time of the process, which other processes disturb less than wall time. It includes the
 * engine's threads that collect garbage and compile. The CPU time of the main thread alone would be too coarse: some
 * kernels count it in steps of milliseconds.
 */
import v8 from 'node:v8'
import type { Case } from './bench.ts'

const WARM_MS = 150
const ROUND_MS = 15
const ROUNDS = 7

export interface Figures {
  /** CPU time per operation, in ns; the median of the rounds. */
  ns: number
  /** How much longer the slowest round took than the fastest, as a part of the median. */
  spread: number
  /** Bytes allocated on the heap of the engine. Strings and buffers of more than a megabyte are not on this heap. */
  allocated: number
  /** null = the speed of this case is not told in GB/s. */
  gbPerS: number | null
}

/** The sum of what runs returned, which is printed at the end. */
let consumed = 0
export const consumedTotal = (): number => consumed

interface Round {
  ns: number
  allocated: number
}

function batch(subject: Case, runs: number): Round {
  const before = v8.getHeapStatistics().total_allocated_bytes
  const from = process.cpuUsage()
  let sum = 0
  for (let i = 0; i < runs; i++) sum += subject.run()
  const { user, system } = process.cpuUsage(from)
  if (Number.isNaN(sum)) throw new Error(`${subject.name}: a run went wrong`)
  consumed = (consumed + sum) % 1e9
  const allocated = v8.getHeapStatistics().total_allocated_bytes - before
  const operations = runs * (subject.per ?? 1)
  return { ns: ((user + system) * 1000) / operations, allocated: allocated / operations }
}

/** Warms up; resolves with the number of runs that take about as long as a round. */
async function warmUp(subject: Case): Promise<number> {
  const most = subject.most ?? Number.POSITIVE_INFINITY
  const untilMs = performance.now() + WARM_MS
  let runs = 1
  let tookMs = 0
  do {
    const fromMs = performance.now()
    batch(subject, runs)
    tookMs = performance.now() - fromMs
    await subject.rest?.()
    if (tookMs < ROUND_MS / 2) runs = Math.min(most, runs * 2)
  } while (performance.now() < untilMs)
  return Math.max(1, Math.min(most, Math.round((runs * ROUND_MS) / Math.max(tookMs, 0.001))))
}

/** Measures the same case of each side in turns. The side that is first in one round is last in the next. */
export async function measure(sides: readonly Case[]): Promise<Figures[]> {
  const runs: number[] = []
  for (const side of sides) runs.push(await warmUp(side))
  const rounds: Round[][] = sides.map(() => [])
  for (let round = 0; round < ROUNDS; round++) {
    const order = [...sides.keys()]
    if (round % 2 === 1) order.reverse()
    for (const i of order) {
      const side = sides[i] as Case
      rounds[i]?.push(batch(side, runs[i] as number))
      await side.rest?.()
    }
  }
  return sides.map((side, i) => figures(side, rounds[i] as Round[]))
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number

export function figures({ bytes, per = 1 }: Pick<Case, 'bytes' | 'per'>, rounds: readonly Round[]): Figures {
  const times = rounds.map(round => round.ns)
  const ns = median(times)
  return {
    ns,
    spread: ns === 0 ? 0 : (Math.max(...times) - Math.min(...times)) / ns,
    allocated: median(rounds.map(round => round.allocated)),
    gbPerS: bytes === undefined ? null : bytes / (ns * per),
  }
}
