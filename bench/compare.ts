/**
 * `npm run bench:compare REV [-- --only small --quick]`: measures another revision and the working tree in turns, and the
 * other revision a second time from a checkout of its own. How much the two equal subjects differ tells what of a
 * difference is the machine's noise: without it nobody could say whether a workload became dearer. A round of a closed loop is cut into
 * eight turns of each, so that what else the machine does falls upon all of them.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { checkOut } from './parts/checkout.ts'

const [revision, ...rest] = process.argv.slice(2)
if (revision === undefined || revision.startsWith('-')) {
  console.error('which revision? npm run bench:compare HEAD~1')
  process.exit(1)
}
const other = checkOut(revision)
// Ctrl-C ends the bench below; this process goes on to remove the checkout
process.on('SIGINT', () => {})
try {
  const script = path.join(import.meta.dirname, 'run.ts')
  const args = [
    script,
    '--against',
    other.root,
    '--name',
    revision,
    '--again',
    '--alone',
    '--rounds',
    '5',
    '--turns',
    '8',
    ...rest,
  ]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  other.remove()
}
