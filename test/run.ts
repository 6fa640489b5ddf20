/**
 * `npm test [-- FILE or FOLDER …]`: tap over test/, or over those, then which files took longest and one closing line
 * that any CI can read. Options go to tap.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { ANVIL_MISSING } from './support/anvil.ts'
import { OCEANBASE_MISSING } from './support/oceanbase.ts'

/** More than processors: many files wait for timers of stores and gateways, and others can run meanwhile. */
const JOBS = 4
const SLOWEST = 10
const RESULTS = '.tap/test-results'
/** Node warns that it strips types for the console's pages, which a test looks after. */
const QUIET = '--node-arg=--disable-warning=ExperimentalWarning'

const root = new URL('..', import.meta.url).pathname
const tap = `${root}node_modules/.bin/tap`
// tap compiles its own test class for the plugins in use, once per checkout
if (!existsSync('.tap/plugins')) spawnSync(tap, ['build'], { stdio: 'ignore' })

// of everything random, so that a failure can be had again
const seed = process.env['SEED'] ?? String(Math.floor(Math.random() * 2 ** 32))
const options = process.argv.slice(2).filter(argument => argument.startsWith('-'))
const named = process.argv.slice(2).filter(argument => !argument.startsWith('-'))
const files = (named.length === 0 ? ['test'] : named).flatMap(filesOf)
const beganMs = Date.now()
const run = spawn(tap, ['--reporter=terse', `--jobs=${JOBS}`, QUIET, ...options, ...files], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    ...process.env,
    SEED: seed,
    FORCE_COLOR: '0',
    TERM: 'dumb',
    // each file is a process that loads much of lib: what one has compiled, the next reads
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? `${root}node_modules/.cache/gateway`,
  },
})
let tail = ''
const CONTROL = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g')
let partial = ''
run.stdout.on('data', (data: Buffer) => {
  const lines = (partial + data.toString().replace(CONTROL, '')).split('\n')
  partial = lines.pop() ?? ''
  for (const line of lines) {
    // progress lines are for terminals
    if (!/^(Asserts|Suites): +\d+ pass/.test(line) && line.trim() !== '') console.log(line)
    tail = `${tail}\n${line}`.slice(-4000)
  }
})
run.on('close', code => {
  const total = (what: string) =>
    Number(new RegExp(`${what}: (\\d+)`).exec(tail.slice(tail.lastIndexOf('# {')))?.[1] ?? 0)
  const passed = total('pass')
  const failed = total('fail')
  if (files.length > 1)
    console.log(`${((Date.now() - beganMs) / 1000).toFixed(0)} s, of which:\n${slowest().join('\n')}`)
  for (const missing of [OCEANBASE_MISSING, ANVIL_MISSING]) if (missing !== null) console.log(missing)
  console.log(`SEED=${seed}`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exit(code !== 0 || passed === 0 ? code || 1 : 0)
})

/** tap takes no folders: all test files in one, or the argument itself. */
function filesOf(argument: string): string[] {
  if (!statSync(argument, { throwIfNoEntry: false })?.isDirectory()) return [argument]
  const names = readdirSync(argument, { recursive: true, encoding: 'utf8' })
  const tests = names.filter(name => name.endsWith('.test.ts')).sort()
  return tests.map(name => `${argument.replace(/\/+$/, '')}/${name}`)
}

/** The files of this run that took longest, as tap noted it at the end of each. */
function slowest(): string[] {
  const seconds = files.flatMap(file => {
    const noted = `${RESULTS}/${file}.tap`
    if ((statSync(noted, { throwIfNoEntry: false })?.mtimeMs ?? 0) < beganMs) return []
    const [, ms = '0'] = /.*^# time=([\d.]+)ms$/ms.exec(readFileSync(noted, 'utf8')) ?? []
    return [{ file, s: Number(ms) / 1000 }]
  })
  const longest = seconds.sort((a, b) => b.s - a.s).slice(0, SLOWEST)
  return longest.map(({ file, s }) => `${s.toFixed(1).padStart(6)}  ${file}`)
}
