/**
 * `npm run bench:micro [-- NAME … --against DIR --seed N]`: measures each hot file by itself. With `--against`, the
 * same modules of another checkout are measured in the same run, in turns with those of the working tree.
 */
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../parts/subjects.ts'
import { type Case, libOf, load, NAMES } from './bench.ts'
import { consumedTotal, type Figures, measure } from './measure.ts'

const HELP = `npm run bench:micro [-- NAME … --against DIR --seed N]

  NAME           ${NAMES.join(', ')}; default: all
  --against DIR  another checkout of the gateway, measured in turns with this one
  --seed N       of the workloads; default: 1`

interface Side {
  name: string
  root: string
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})
const seed = Number(values.seed)
const unknown = positionals.find(name => !(NAMES as readonly string[]).includes(name))
if (values.help) console.log(HELP)
else if (unknown !== undefined || !Number.isInteger(seed)) {
  console.error(`${unknown === undefined ? `no seed: ${values.seed}` : `no bench: ${unknown}`}\n\n${HELP}`)
  process.exitCode = 1
} else await main()

async function main(): Promise<void> {
  const sides: Side[] = [{ name: 'tree', root: ROOT }]
  if (values.against !== undefined) sides.unshift({ name: 'against', root: path.resolve(values.against) })
  print(`seed ${seed}; Node ${process.version}, ${os.cpus().length} × ${os.cpus()[0]?.model ?? 'cpu'}\n`)
  print(`| case |${sides.length > 1 ? ' side |' : ''} CPU ns | spread | GB/s | target | heap bytes |`)
  print(`|---|${sides.length > 1 ? '---|' : ''}---|---|---|---|---|`)
  for (const name of positionals.length > 0 ? positionals : NAMES) await benchmark(name, sides)
  print(`\nns and bytes are per operation. (${consumedTotal()})`)
}

async function benchmark(name: string, sides: readonly Side[]): Promise<void> {
  const cases: Case[][] = []
  try {
    for (const side of sides) cases.push(await (await load(name, side.name))(libOf(side.root), seed))
    for (let i = 0; i < (cases[0] as Case[]).length; i++) {
      const same = cases.map(ofSide => ofSide[i] as Case)
      for (const subject of same) await subject.check()
      const found = await measure(same)
      found.forEach((figures, at) => {
        row(name, same[at] as Case, figures, sides.length > 1 ? (sides[at] as Side).name : null)
      })
    }
  } finally {
    for (const subject of cases.flat()) await subject.close?.()
  }
}

function row(bench: string, subject: Case, { ns, spread, allocated, gbPerS }: Figures, side: string | null): void {
  const rate = gbPerS === null ? '' : gbPerS.toFixed(2)
  const target = subject.target === undefined ? '' : `≥ ${subject.target}`
  const cells = [ns.toFixed(ns < 100 ? 1 : 0), `${(spread * 100).toFixed(0)} %`, rate, target, allocated.toFixed(0)]
  print(`| ${bench}: ${subject.name} |${side === null ? '' : ` ${side} |`} ${cells.join(' | ')} |`)
}

function print(line: string): void {
  console.log(line)
}
