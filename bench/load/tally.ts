/** Counts what the load saw: answers, failures, latencies. */
import { quantile } from '../report/statistics.ts'
import type { Outcome } from './order.ts'

export class Tally {
  readonly #beganMs = performance.now()
  readonly #began = process.cpuUsage()
  readonly #whole: number[] = []
  readonly #firstByte: number[] = []
  readonly #late: number[] = []
  done = 0
  failed = 0
  left = 0

  answered(fromMs: number, firstByteMs: number): void {
    this.#whole.push(performance.now() - fromMs)
    this.#firstByte.push(firstByteMs - fromMs)
  }

  late(ms: number): void {
    this.#late.push(ms)
  }

  outcome(): Outcome {
    const seconds = (performance.now() - this.#beganMs) / 1000
    const { user, system } = process.cpuUsage(this.#began)
    const us = (times: number[], q: number) => (times.length === 0 ? 0 : quantile(times, q) * 1000)
    for (const times of [this.#whole, this.#firstByte, this.#late]) times.sort((a, b) => a - b)
    return {
      done: this.done,
      failed: this.failed,
      left: this.left,
      seconds,
      perSecond: this.done / seconds,
      p50us: us(this.#whole, 0.5),
      p99us: us(this.#whole, 0.99),
      p999us: us(this.#whole, 0.999),
      longestUs: us(this.#whole, 1),
      firstByteP50us: us(this.#firstByte, 0.5),
      lateP99us: us(this.#late, 0.99),
      loadCpuS: (user + system) / 1e6,
    }
  }
}
