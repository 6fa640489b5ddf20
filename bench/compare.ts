/** `npm run bench:compare REV [-- --only small --quick]`: another revision of the gateway and the working tree, taking turns. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT } from './parts/subjects.ts'

const [revision, ...rest] = process.argv.slice(2)
if (revision === undefined) {
  console.error('which revision? npm run bench:compare HEAD~1')
  process.exit(1)
}
const folder = path.join(mkdtempSync(path.join(tmpdir(), 'bench-compare-')), revision.replaceAll('/', '-'))
const git = (...args: string[]) =>
  execFileSync('git', ['-C', ROOT, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
git('worktree', 'add', '--detach', folder, revision)
// stopped in the midst, it still takes away what it made
process.on('SIGINT', () => {})
try {
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  const script = path.join(import.meta.dirname, 'run.ts')
  const args = [script, '--against', folder, '--alone', '--rounds', '5', ...rest]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  git('worktree', 'remove', '--force', folder)
  rmSync(path.dirname(folder), { recursive: true, force: true })
}
