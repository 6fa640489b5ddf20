/**
 * `npm run bench:compare REV [-- --only small --quick]`: measures another revision of the gateway and the working tree
 * in turns.
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
  const args = [script, '--against', other.root, '--name', revision, '--alone', '--rounds', '5', ...rest]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  other.remove()
}
