/**
 * `npm run weigh`: what a newcomer waits for and stores. `npm ci` in a folder that has nothing but this project's package.json, lock file
 * and .npmrc, measured by `du`. Exits 1 above a budget.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const MOST_MB = 350
const MOST_S = 60
const ROOT = path.resolve(import.meta.dirname, '../..')

const folder = mkdtempSync(path.join(tmpdir(), 'weigh-'))
// with nothing downloaded before
const cache = `${folder}-cache`
let problems: string[]
try {
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(path.join(ROOT, name), path.join(folder, name))
  const beganMs = performance.now()
  const installed = spawnSync('npm', ['ci', '--cache', cache], { cwd: folder, encoding: 'utf8' })
  const seconds = (performance.now() - beganMs) / 1000
  const { stdout } = spawnSync('du', ['-sk', folder], { encoding: 'utf8' })
  const megabytes = Number.parseInt(stdout, 10) / 1024
  console.log(`npm ci: ${megabytes.toFixed(0)} MB, ${seconds.toFixed(0)} s`)
  problems = [
    ...(installed.status === 0 ? [] : [`npm ci ended with ${installed.status}: ${installed.stderr.slice(-1_000)}`]),
    ...(megabytes <= MOST_MB ? [] : [`more than ${MOST_MB} MB`]),
    ...(seconds <= MOST_S ? [] : [`more than ${MOST_S} s`]),
  ]
} finally {
  for (const one of [folder, cache]) rmSync(one, { recursive: true, force: true })
}
for (const problem of problems) console.error(problem)
process.exit(problems.length === 0 ? 0 : 1)
