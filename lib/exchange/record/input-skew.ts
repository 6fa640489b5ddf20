/**
 * Finds channels that report more input than the other channels of the same model do for the same kind of requests: too little
 * to dispute, and enough to cost. What an upstream reports is compared with what the gateway estimates, because requests differ; the
 * factor between the two belongs to the model and not to the channel.
 */
import { latest } from '../../base/lru.ts'

/** Of so many answers the median counts. */
const ANSWERS = 100
const SKEW = 1.5
const MOST_MODELS = 10_000
const MOST_CHANNELS = 1000

class Ratios {
  readonly #last = new Float64Array(ANSWERS)
  #count = 0
  /** Of the last hundred; null = there were fewer. */
  median: number | null = null

  /** Returns true when another hundred is full. */
  add(ratio: number): boolean {
    this.#last[this.#count++ % ANSWERS] = ratio
    if (this.#count % ANSWERS !== 0) return false
    this.median = medianOf(this.#last)
    return true
  }
}

export interface Skew {
  channel: string
  model: string
  /** Reported ÷ estimated input, as the median of the channel and of the others. */
  ratio: number
  others: number
}

export class InputSkew {
  readonly #models = latest<string, ReturnType<typeof latest<string, Ratios>>>(MOST_MODELS)
  readonly #onSkew: (skew: Skew) => void

  constructor(onSkew: (skew: Skew) => void) {
    this.#onSkew = onSkew
  }

  note(channel: string, model: string, reported: number, estimated: number): void {
    if (estimated <= 0) return
    let channels = this.#models.get(model)
    if (channels === undefined) this.#models.set(model, (channels = latest<string, Ratios>(MOST_CHANNELS)))
    let ratios = channels.get(channel)
    if (ratios === undefined) channels.set(channel, (ratios = new Ratios()))
    if (!ratios.add(reported / estimated)) return
    const others = [...channels.entries()].flatMap(([name, { median }]) => (name === channel ? [] : (median ?? [])))
    const ratio = ratios.median as number
    const usual = medianOf(others)
    if (others.length > 0 && ratio >= SKEW * usual) this.#onSkew({ channel, model, ratio, others: usual })
  }
}

function medianOf(numbers: Iterable<number>): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
}
