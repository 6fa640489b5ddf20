/**
 * `npm run bench:money REV [-- --exchanges N --seed N]`: whether the working tree charges what another revision charges. Both make
 * the same random exchanges, and every figure of their books must be equal: usage, charges, costs, receipts, ends. For changes
 * that should make a request cheaper for us and for nobody else.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { scriptArguments } from '../test/support/script.ts'
import { checkOut } from './parts/checkout.ts'
import { ROOT } from './parts/subjects.ts'

const { values, positionals } = scriptArguments(import.meta.filename, {
  exchanges: { type: 'string', default: '100000' },
  seed: { type: 'string', default: '1' },
})
const [revision] = positionals
if (revision === undefined) {
  console.error('which revision? npm run bench:money HEAD~1')
  process.exit(1)
}

/** What the gateway of a checkout charges, as a line of JSON. */
function charged(root: string): string {
  const script = path.join(import.meta.dirname, 'parts/money-rows.ts')
  const { status, stdout } = spawnSync(process.execPath, [script, root, values.seed, values.exchanges], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the exchanges of ${root} failed`)
  return stdout.trim().split('\n').at(-1) as string
}

const other = checkOut(revision)
try {
  const [theirs, ours] = [charged(other.root), charged(ROOT)]
  console.log(`${revision}: ${theirs}\nworking tree: ${ours}`)
  if (theirs !== ours) {
    console.error(`the books of ${values.exchanges} exchanges differ (seed ${values.seed})`)
    process.exitCode = 1
  } else console.log(`equal, for ${values.exchanges} exchanges of seed ${values.seed}`)
} finally {
  other.remove()
}
