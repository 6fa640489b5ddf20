/** `npm test [-- FILE or FOLDER …]`: tap over test/, or over those, then one closing line that any CI can read. Options go to tap. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { OCEANBASE_MISSING } from './support/oceanbase.ts'

const tap = new URL('../node_modules/.bin/tap', import.meta.url).pathname
// tap compiles its own test class for the plugins in use, once per checkout
if (!existsSync('.tap/plugins')) spawnSync(tap, ['build'], { stdio: 'ignore' })

// of everything random, so that a failure can be had again
const seed = process.env['SEED'] ?? String(Math.floor(Math.random() * 2 ** 32))
const run = spawn(tap, ['--reporter=terse', '--jobs=2', ...process.argv.slice(2).flatMap(filesOf)], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, SEED: seed, FORCE_COLOR: '0', TERM: 'dumb' },
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
  if (OCEANBASE_MISSING !== null) console.log(OCEANBASE_MISSING)
  console.log(`SEED=${seed}`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exit(code !== 0 || passed === 0 ? code || 1 : 0)
})

/** tap takes no folders: all test files in one, or the argument itself. */
function filesOf(argument: string): string[] {
  if (!statSync(argument, { throwIfNoEntry: false })?.isDirectory()) return [argument]
  const names = readdirSync(argument, { recursive: true, encoding: 'utf8' })
  return names.filter(name => name.endsWith('.test.ts')).map(name => `${argument.replace(/\/+$/, '')}/${name}`)
}
