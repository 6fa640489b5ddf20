/** `npm run simulate:books -- [--seeds 10000] [--seed N] [--trace]`. Exits 1 at the first seed that fails. */

import { scriptOptions } from '../../support/script.ts'
import { type Failure, Runner } from './run.ts'

const PROGRESS_MS = 10_000

const values = scriptOptions(import.meta.filename, {
  seeds: { type: 'string', default: '10000' },
  from: { type: 'string', default: '1' },
  seed: { type: 'string' },
  trace: { type: 'boolean', default: false },
})

function tell({ seed, error }: Failure): void {
  console.log(`seed ${seed} failed: ${error instanceof Error ? error.stack : String(error)}`)
  console.log(`again, step by step: npm run simulate:books -- --seed ${seed} --trace`)
}

const first = Number(values.seed ?? values.from)
const count = values.seed === undefined ? Number(values.seeds) : 1
const runner = await new Runner().open()
const began = performance.now()
let toldMs = began
let failed = false
let done = 0
for (; done < count && !failed; done++) {
  const trace: string[] | null = values.trace ? [] : null
  const failure = await runner.run(first + done, trace)
  if (trace !== null) console.log(trace.join('\n'))
  if (failure !== null) {
    tell(failure)
    failed = true
  } else if (performance.now() - toldMs > PROGRESS_MS) {
    toldMs = performance.now()
    console.log(`${done + 1} of ${count} seeds`)
  }
}
runner.close()
const seconds = (performance.now() - began) / 1000
if (!failed) console.log(`${count} seeds passed in ${seconds.toFixed(1)} s (${Math.round(count / seconds)} a second)`)
process.exit(failed ? 1 : 0)
