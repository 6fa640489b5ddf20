/**
 * `npm run bench [-- --quick --only NAME --rounds N --rate N --against DIR --alone]`: measures the gateway with every
 * feature on, a bare relay, nginx and the last commit, in one run on one machine. The main figure is the CPU time of
 * the subject's process per unit, because it depends least on what else the machine does. Subjects take turns; the
 * table shows medians over the rounds. Before anything is timed, the answers of each subject are checked. Only a
 * complete run writes its figures into docs/performance.md; it then measures what each duty costs, as
 * `npm run bench:ablation` does by itself.
 *
 *   --quick        one round, a quarter of the requests
 *   --only NAME    only workloads whose name contains this
 *   --rate N       requests per second in an open loop, in place of those of its workloads
 *   --against DIR  measure another checkout too
 *   --again        measure that checkout twice, to see what of a difference is noise
 *   --alone        without the bare relay and nginx
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { scriptOptions } from '../test/support/script.ts'
import { measureClosed } from './kinds/closed.ts'
import type { Context } from './kinds/context.ts'
import { measureIdle } from './kinds/idle.ts'
import { measureMixed } from './kinds/mixed.ts'
import { measureOpen } from './kinds/open.ts'
import { measureSettling } from './kinds/settling.ts'
import { measureStart } from './kinds/start.ts'
import { measureSteady } from './kinds/steady.ts'
import { measureTranslated } from './kinds/translated.ts'
import { checkOut, lastRevision } from './parts/checkout.ts'
import { endAll } from './parts/process.ts'
import { ROOT } from './parts/subjects.ts'
import { WORKLOADS, type Workload } from './parts/workloads.ts'
import { replaceBlock } from './report/doc-block.ts'
import { again, compareCpu, comparisonLines } from './report/dearer.ts'
import { Results } from './report/results.ts'
import { tableLines } from './report/table.ts'
import { GATEWAY } from './report/targets.ts'

const values = scriptOptions(import.meta.filename, {
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  rounds: { type: 'string' },
  /** Turns of a round in closed loops. */
  turns: { type: 'string', default: '1' },
  against: { type: 'string' },
  /** The name of the checkout at `against`. */
  name: { type: 'string' },
  /** Measures the checkout at `against` a second time. */
  again: { type: 'boolean', default: false },
  /** Requests per second in an open loop. */
  rate: { type: 'string' },
  /** Without the bare relay and nginx. */
  alone: { type: 'boolean', default: false },
})
const { quick, only, against } = values
const wanted = WORKLOADS.filter(w => (only === undefined ? !('isOfShortTexts' in w) : w.name.includes(only)))
if (wanted.length === 0) throw new Error(`no workload is called ${only}: ${WORKLOADS.map(w => w.name).join(', ')}`)
const takesPrevious = wanted.some(w => w.kind === 'closed' && w.previous)
const previous = takesPrevious && against === undefined && !values.alone ? previousCommit() : null
const other = against === undefined ? (previous?.name ?? null) : (values.name ?? path.basename(against))
const context: Context = {
  results: new Results(),
  rounds: Number(values.rounds ?? (quick ? 1 : 3)),
  turns: Number(values.turns),
  share: quick ? 0.25 : 1,
  gateways: [
    ...(against === undefined ? [] : [{ name: other as string, root: path.resolve(against) }]),
    ...(against === undefined || !values.again ? [] : [{ name: again(other as string), root: path.resolve(against) }]),
    { name: GATEWAY, root: ROOT },
  ],
  previous,
  floors: !values.alone,
  rate: values.rate === undefined ? null : Number(values.rate),
}

/** null when it is missing; then the reason is printed. */
function previousCommit(): Context['previous'] {
  try {
    const { root, remove } = checkOut(lastRevision())
    process.on('exit', remove)
    return { name: 'last commit', root }
  } catch (error) {
    console.error(`without the last commit: ${(error as Error).message}`)
    return null
  }
}

function measure(w: Workload): Promise<void> {
  switch (w.kind) {
    case 'closed':
      return measureClosed(w, context)
    case 'open':
      return measureOpen(w, context)
    case 'translated':
      return measureTranslated(w, context)
    case 'steady':
      return measureSteady(w, context)
    case 'idle':
      return measureIdle(w, context)
    case 'settling':
      return measureSettling(w, context)
    case 'mixed':
      return measureMixed(w, context)
    case 'start':
      return measureStart(w, context)
  }
}

const unitOf = (w: Workload): string =>
  w.kind === 'closed' ? w.unit : w.kind === 'translated' && w.stream ? 'event' : 'request'

const units = new Map(wanted.map(w => [w.name, unitOf(w)]))
const machine = `${os.cpus().length} × ${os.cpus()[0]?.model ?? 'cpu'}`
const beganMs = performance.now()
const file = path.join(ROOT, 'data/bench.md')
let text = ''

/** Writes what has been measured so far: a run takes long, and one that is broken off loses none of it. */
function write(): void {
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(0)
  const about = `Node ${process.version}, ${machine}, ${context.rounds} rounds, medians, ${seconds} s in all, ${new Date().toISOString().slice(0, 10)}.`
  const compared = values.again ? `${comparisonLines(compareCpu(context.results, other as string)).join('\n')}\n\n` : ''
  text = `${tableLines(context.results, units, other).join('\n')}\n\n${compared}${about}\n`
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}

process.once('exit', () => console.log(text))
for (const w of wanted) {
  const before = performance.now()
  try {
    await measure(w)
  } catch (error) {
    // the figures of the other workloads are useful all the same
    console.error(`${w.name} failed:`, error)
    process.exitCode = 1
    // a subject that the workload did not stop would disturb the next one, and keep this process from its end
    await endAll()
  }
  write()
  console.error(`${w.name}: ${((performance.now() - before) / 1000).toFixed(0)} s`)
}
const isWhole = !(quick || values.alone) && [only, against, values.rounds, values.rate].every(one => one === undefined)
if (process.exitCode === undefined && isWhole) {
  const document = path.join(ROOT, 'docs/performance.md')
  writeFileSync(document, replaceBlock(readFileSync(document, 'utf8'), 'bench', text))
  const { status } = spawnSync(process.execPath, [path.join(ROOT, 'bench/ablation.ts')], { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
