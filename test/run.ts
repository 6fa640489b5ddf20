/**
 * `npm test [-- FILE or FOLDER …]`: the tests of test/, or of those; `npm run test:long`: those that take long. Prints what failed, which files took longest and one
 * closing line that any CI can read; with `--times`, what every file took. `TAP_GREP=…` and the other variables of tap choose among the tests.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { installPackages, packageNames } from './clients/packages.ts'
import { batches, ENDINGS, filesOf } from './runner/batches.ts'
import { importers } from './runner/importers.ts'
import { type Result, readTap } from './runner/tap-output.ts'
import { folderInMemory } from './runner/temporary-folder.ts'
import { ANVIL_MISSING } from './support/anvil.ts'
import { OCEANBASE_MISSING } from './support/oceanbase.ts'
import { CADDY_MISSING, NGINX_MISSING } from './support/proxies-missing.ts'
import { scriptArguments } from './support/script.ts'

/** More than processors: many files wait for timers of stores and gateways, and others can run meanwhile. */
const JOBS = 4
const SLOWEST = 10
/** It only ends a process that waits in vain. */
const PATIENCE_MS = 3_600_000

const root = new URL('..', import.meta.url).pathname
const { values: chosen, positionals: named } = scriptArguments(import.meta.filename, {
  long: { type: 'boolean', default: false },
  times: { type: 'boolean', default: false },
})
const isLong = chosen.long
// an engine's data would be too much, and what takes long may be about the disk
const folder = isLong || process.env['TMPDIR'] !== undefined ? null : folderInMemory()
if (folder !== null) {
  process.on('exit', folder.remove)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
}
// of everything random, so that a failure can be had again
const seed = process.env['SEED'] ?? String(Math.floor(Math.random() * 2 ** 32))
const env = {
  ...process.env,
  SEED: seed,
  // each process loads much of lib: what one has compiled, the next reads
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? `${root}node_modules/.cache/gateway`,
  ...(folder === null ? {} : { TMPDIR: folder.path }),
}

/**
 * Node warns that it strips types for the console's pages, which a test looks after. Young objects are collected less often than by default, as in a
 * gateway: that takes a twentieth of the processor's time.
 */
const NODE = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=64', `${root}test/runner/together.ts`]

async function run(files: readonly string[]): Promise<Result> {
  const child = spawn(process.execPath, [...NODE, ...files], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
    timeout: PATIENCE_MS,
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => void (said[name] += text))
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  const result = readTap(said.stdout)
  if (said.stderr !== '') console.log(`${files.join(' ')}: stderr\n${said.stderr.trimEnd()}`)
  if ((code !== 0 || result.files.length < files.length) && result.failed === 0) {
    result.failed++
    result.failures = `${files.join(' ')}: ${signal ?? `exit ${code}`}\n${said.stdout.slice(-4_000)}`
  }
  if (result.failed > 0) console.log(result.failures)
  return result
}

const absent = named.filter(name => !existsSync(name))
if (absent.length > 0) {
  console.error(`There is no file or folder ${absent.join(', ')}.`)
  process.exit(2)
}
const ending = isLong ? ENDINGS.long : ENDINGS.short
const found = (named.length === 0 ? ['test'] : named).flatMap(name => filesOf(name, ending))
const needy = importers(found, packageNames())
const whyWithout = needy.length === 0 ? null : installPackages()
const files = whyWithout === null ? found : found.filter(file => !needy.includes(file))
const beganMs = Date.now()
const waiting = isLong ? files.map(file => [file]) : batches(files, JOBS)
const results: Result[] = []
await Promise.all(
  Array.from({ length: JOBS }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) results.push(await run(next))
  }),
)
type Spent = { file: string; s: number }[]
const say = (what: string, spent: Spent): void => {
  console.log(`${what}, of which:`)
  for (const { file, s } of spent.sort((a, b) => b.s - a.s).slice(0, chosen.times ? spent.length : SLOWEST))
    console.log(`${s.toFixed(1).padStart(6)}  ${file}`)
}
if (files.length > 1) {
  const processor = results.flatMap(result => result.processor)
  say(
    `${((Date.now() - beganMs) / 1000).toFixed(0)} s`,
    results.flatMap(result => result.files),
  )
  say(`${processor.reduce((total, { s }) => total + s, 0).toFixed(0)} s of processor time`, processor)
}
const missing = [isLong ? OCEANBASE_MISSING : ANVIL_MISSING, NGINX_MISSING, CADDY_MISSING]
for (const why of missing) if (why !== null) console.log(why)
if (whyWithout !== null)
  console.log(
    `${needy.length} files of tests need what \`npm run test:install\` fetches, and did not run: ${needy.join(' ')}\n${whyWithout}`,
  )
const sum = (of: 'passed' | 'failed') => results.reduce((total, result) => total + result[of], 0)
const [passed, failed] = [sum('passed'), sum('failed')]
console.log(`SEED=${seed}`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)
