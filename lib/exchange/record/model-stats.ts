/**
 * What is learned of the answers of models, on which holds and the charges of clients that leave rest:
 *
 * - `open`: how much a model writes for requests that name no maximum: the 99th percentile of its last answers to such requests.
 * - one series for each effort that requests ask for: its **hidden ratio**, by how much more output the upstream reports than is
 *   seen of the answer, because models think where nobody sees it.
 * - whether the model thinks at all.
 *
 * The samples of a series are its last 1,000 whole answers, at most 50 of them from one account: so nobody moves a figure alone.
 * They stand in one table of the store. Each process gathers what it sees, and merges it into the table once an hour, or when a
 * series has many new samples; then it takes over the figures of all the others.
 */
import type { Clock } from '../../base/clock.ts'
import { Rounds } from '../../base/rounds.ts'
import type { AskedEffort } from '../../protocols/words/maxima.ts'
import type { Store } from '../../store/store.ts'
import type { ModelSeries } from '../../store/shared-state.ts'
import { StoreUnavailable } from '../../store/base/errors.ts'
import type { Logger } from '../../base/log.ts'

const MOST_SAMPLES = 1000
const MOST_OF_ACCOUNT = 50
const LEAST_ACCOUNTS = 5
/** Fewer samples say nothing. */
const LEAST_OPEN = 200
const LEAST_RATIO = 100
/** A ratio is kept in thousandths, and lies between these. */
const THOUSAND = 1000
const LARGEST_RATIO = 20 * THOUSAND

const ROUND_MS = 60_000
const MERGE_MS = 3_600_000
/** A series with so many new samples is merged in the next round. */
const MANY = 100
/** The most samples of all series that wait for the next merge. While there are so many, further ones are not taken. */
const MOST_WAITING = 50_000
/** How often a merge is tried that other processes come before. */
const TRIES = 8

type SeriesName = 'open' | AskedEffort

/** An answer: whose, its output tokens as reported and as counted, and whether it was thought about. */
interface Sample {
  readonly account: number
  readonly output: number
  readonly counted: number
  readonly thinks: boolean
}

interface Series {
  readonly model: string
  readonly series: SeriesName
  waiting: Sample[]
  figure: number | null
  thinks: boolean
  /** The same as the table says it, for every process alike. */
  thinksInTable: boolean
}

/** One whole answer whose upstream reported what it used. */
export interface WholeAnswer {
  account: number
  model: string
  effort: AskedEffort
  /** Output tokens as reported, and as counted in what came. */
  output: number
  counted: number
  thinks: boolean
  /** How many answers it is, where the request named no maximum for them; null = it named one. */
  unbounded: number | null
}

interface Parts {
  store: Pick<Store, 'modelStats'>
  clock: Clock
  log: Pick<Logger, 'error'>
}

export class ModelStats {
  readonly #parts: Parts
  readonly #rounds: Rounds
  /** Model → series → what is known of it. Only models of the catalogue answer, so there are not many. */
  readonly #models = new Map<string, Map<SeriesName, Series>>()
  #waiting = 0
  #mergedMs: number

  constructor(parts: Parts) {
    this.#parts = parts
    this.#mergedMs = parts.clock.monotonic()
    this.#rounds = new Rounds(parts.clock, ROUND_MS, () => this.#round())
  }

  /** Takes over what the store knows. */
  async start(): Promise<void> {
    await this.#load()
    this.#rounds.start()
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    await this.#rounds.stop()
    await this.merge()
  }

  // --- what is known

  /** What the model writes at most, nearly always, for a request that names no maximum; null = too few answers say. */
  openOutput(model: string): number | null {
    return this.#models.get(model)?.get('open')?.figure ?? null
  }

  /** By how much more output is reported than seen, in thousandths: 1,000 to 20,000. */
  hiddenRatio(model: string, effort: AskedEffort): number {
    return this.#models.get(model)?.get(effort)?.figure ?? THOUSAND
  }

  /** One of the model's last answers was thought about. */
  thinks(model: string): boolean {
    const series = this.#models.get(model)
    if (series === undefined) return false
    for (const { thinks } of series.values()) if (thinks) return true
    return false
  }

  /** The same as all processes know it: what an upstream may report must not depend on which of them is asked. */
  thinksForAll(model: string): boolean {
    const series = this.#models.get(model)
    if (series === undefined) return false
    for (const { thinksInTable } of series.values()) if (thinksInTable) return true
    return false
  }

  // --- what is learned

  note({ account, model, effort, output, counted, thinks, unbounded }: WholeAnswer): void {
    const ofEffort = this.#of(model, effort)
    ofEffort.thinks ||= thinks
    this.#add(ofEffort, { account, output, counted, thinks })
    if (unbounded === null) return
    this.#add(this.#of(model, 'open'), { account, output: Math.ceil(output / unbounded), counted: 0, thinks: false })
  }

  #add({ waiting }: Series, sample: Sample): void {
    if (this.#waiting >= MOST_WAITING) return
    waiting.push(sample)
    this.#waiting++
  }

  #of(model: string, name: SeriesName): Series {
    let ofModel = this.#models.get(model)
    if (ofModel === undefined) this.#models.set(model, (ofModel = new Map()))
    let series = ofModel.get(name)
    if (series === undefined) {
      series = { model, series: name, waiting: [], figure: null, thinks: false, thinksInTable: false }
      ofModel.set(name, series)
    }
    return series
  }

  // --- with the store

  /** Never rejects. */
  async #round(): Promise<void> {
    if (this.#parts.clock.monotonic() - this.#mergedMs >= MERGE_MS) await this.merge()
    else await this.#mergeAll(MANY)
  }

  /** Merges all that waits, and takes over what others have merged. Never rejects. */
  async merge(): Promise<void> {
    this.#mergedMs = this.#parts.clock.monotonic()
    await this.#mergeAll(1)
    await this.#try(() => this.#load())
  }

  async #mergeAll(least: number): Promise<void> {
    for (const ofModel of this.#models.values())
      for (const series of ofModel.values())
        if (series.waiting.length >= least) await this.#try(() => this.#mergeOne(series))
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.#parts.log.error({ err: error }, 'what models answer is not kept')
    }
  }

  async #load(): Promise<void> {
    for (const { model, series: name, figure, thinks } of await this.#parts.store.modelStats.all()) {
      const series = this.#of(model, name as SeriesName)
      series.figure = figure
      series.thinksInTable = thinks
      series.thinks = thinks || series.waiting.some(sample => sample.thinks)
    }
  }

  async #mergeOne(series: Series): Promise<void> {
    const { store } = this.#parts
    const merged = series.waiting.length
    for (let i = 0; i < TRIES; i++) {
      const { version, samples } = await store.modelStats.samples(series.model, series.series)
      const all = lastOf([...parsed(samples), ...series.waiting.slice(0, merged)])
      const row = rowOf(series, all)
      if (!(await store.modelStats.swap(row, version, written(all)))) continue
      series.waiting = series.waiting.slice(merged)
      this.#waiting -= merged
      series.figure = row.figure
      series.thinksInTable = row.thinks
      series.thinks = row.thinks || series.waiting.some(sample => sample.thinks)
      return
    }
  }
}

/** The last samples, of which not too many are from one account. In the order in which they came. */
export function lastOf(samples: readonly Sample[]): Sample[] {
  const ofAccount = new Map<number, number>()
  const kept: Sample[] = []
  for (let i = samples.length - 1; i >= 0 && kept.length < MOST_SAMPLES; i--) {
    const sample = samples[i] as Sample
    const before = ofAccount.get(sample.account) ?? 0
    if (before >= MOST_OF_ACCOUNT) continue
    ofAccount.set(sample.account, before + 1)
    kept.push(sample)
  }
  return kept.reverse()
}

function rowOf({ model, series }: Series, samples: readonly Sample[]): ModelSeries {
  const accounts = new Set(samples.map(({ account }) => account)).size
  const figure = accounts < LEAST_ACCOUNTS ? null : series === 'open' ? percentileOf(samples) : ratioOf(samples)
  return { model, series, figure, thinks: samples.some(({ thinks }) => thinks) }
}

function percentileOf(samples: readonly Sample[]): number | null {
  if (samples.length < LEAST_OPEN) return null
  const sorted = samples.map(({ output }) => output).sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * 0.99) - 1] as number
}

const sizeOf = ({ output, counted }: Sample): number => Math.max(1, output, counted)

const median = (numbers: number[]): number => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number

/**
 * No answer weighs more than the one in the middle: fifty answers of one account that are a hundred times as long as those of
 * the others would otherwise be the ratio.
 */
function ratioOf(samples: readonly Sample[]): number | null {
  if (samples.length < LEAST_RATIO) return null
  const most = median(samples.map(sizeOf))
  let output = 0
  let counted = 0
  for (const sample of samples) {
    const weight = Math.min(1, most / sizeOf(sample))
    output += sample.output * weight
    counted += sample.counted * weight
  }
  if (counted === 0) return output === 0 ? THOUSAND : LARGEST_RATIO
  return Math.min(LARGEST_RATIO, Math.max(THOUSAND, Math.ceil((output * THOUSAND) / counted)))
}

/** A sample is its numbers, with commas; samples have a blank between them. */
const written = (samples: readonly Sample[]): string =>
  samples.map(({ account, output, counted, thinks }) => `${account},${output},${counted},${thinks ? 1 : 0}`).join(' ')

const parsed = (text: string): Sample[] =>
  text === ''
    ? []
    : text.split(' ').map(sample => {
        const [account = 0, output = 0, counted = 0, thinks = 0] = sample.split(',').map(Number)
        return { account, output, counted, thinks: thinks === 1 }
      })
