/**
 * What can be left out of the gateway to see what it costs: edits of its source as it is loaded, for benches only. A preload
 * makes them (`ablation-preload.ts`), so that the gateway itself has no switch that could weaken its books.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Ablation {
  /** What is left out. */
  name: string
  /** True where the edits do the duty a second time instead of leaving it out. */
  isTwice?: boolean
  /** The ablations whose duties are part of this one. */
  includes?: readonly string[]
  /** Each text stands once in its file, and is replaced. */
  edits: readonly { file: string; from: string; to: string }[]
}

const ENDING = 'lib/exchange/record/ending.ts'
const SETTLER = 'lib/ledger/settler.ts'
const READING = 'lib/exchange/relay/reading.ts'

const KEPT_ROWS = 'store (rows are kept and not sent)'
/** By this one nothing is settled. */
export const DROPPED_ROWS = 'record, journal and store (rows are dropped)'

export const ABLATIONS: readonly Ablation[] = [
  { name: 'log line', edits: [{ file: ENDING, from: '    log(x, services, nowMs, totalMs)\n', to: '' }] },
  { name: 'metrics', edits: [{ file: ENDING, from: '    count(x, services, totalMs)\n', to: '' }] },
  {
    name: 'write to the journal',
    edits: [
      {
        file: 'lib/ledger/journal.ts',
        from: 'while (written < bytes.length) written += writeSync(fd, bytes, written)',
        to: 'written = bytes.length',
      },
    ],
  },
  {
    name: KEPT_ROWS,
    edits: [
      {
        file: SETTLER,
        from: '    if (this.#stopped || this.#running !== null || this.#waiting === 0) return\n',
        to: '    return\n',
      },
      { file: SETTLER, from: 'while (!this.#stopped && (this.#waiting', to: 'while (false && (this.#waiting' },
    ],
  },
  {
    name: DROPPED_ROWS,
    includes: ['write to the journal', KEPT_ROWS],
    edits: [
      {
        file: SETTLER,
        from: '    const part = this.#batchFor(settlements.length)',
        to: '    keep()\n    return\n    const part = this.#batchFor(settlements.length)',
      },
    ],
  },
  {
    name: 'metering',
    // an answer that nobody reads has no end, so that the duty is done twice
    isTwice: true,
    edits: [
      {
        file: READING,
        from: 'this.meter = row.meter({',
        to: 'this.meter = (o => ((this.twin = row.meter(o)), row.meter(o)))({',
      },
      {
        file: READING,
        from: "\n    this.meter.feed(chunk, chunk.toString('latin1'))\n",
        to: "\n    this.meter.feed(chunk, chunk.toString('latin1')), this.twin.feed(chunk, chunk.toString('latin1'))\n",
      },
    ],
  },
  {
    name: 'worst case of the hold',
    edits: [
      {
        file: 'lib/exchange/stages/money.ts',
        from: "  micro(Math.max(1, needOf(x, services, (x.claim as Claim).candidate, x.coveredOutput > 0 ? 'named' : of)))",
        to: '  micro(1)',
      },
    ],
  },
]

/** `source` with the edits of `ablation` in this file. Throws where a text does not stand in it exactly once. */
export function ablate(ablation: Ablation, file: string, source: string): string {
  return ablation.edits
    .filter(edit => edit.file === file)
    .reduce((text, { from, to }) => {
      const [before, after, ...more] = text.split(from)
      if (after === undefined || more.length > 0) throw new Error(`${file} has not once: ${from.trim()}`)
      return `${before}${to}${after}`
    }, source)
}

const PRELOAD = pathToFileURL(path.join(import.meta.dirname, 'ablation-preload.ts')).href

/** The environment in which a gateway starts without this duty. */
export const leavingOut = (name: string, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...env,
  NODE_OPTIONS: `${env['NODE_OPTIONS'] ?? ''} --import=${PRELOAD}`.trim(),
  BENCH_ABLATION: name,
})
