import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { readTap } from './tap-output.ts'

const TOGETHER = join(import.meta.dirname, 'together.ts')
const AFTER = "await new Promise(done => setTimeout(done, 20)); t.pass('after') })\n"
const file = (strays: string) => `import t from 'tap'\nt.test('one', async t => { ${strays}; ${AFTER}`

t.test('what nobody caught fails its file, and the next files run', async t => {
  const folder = t.testdir({
    'throws.mjs': file("setTimeout(() => { throw new Error('thrown astray') })"),
    'rejects.mjs': file("void Promise.reject(new Error('rejected astray'))"),
    'fine.mjs': file("t.pass('before')"),
    'piles.mjs': file("for (let i = 0; i < 11; i++) process.on('SIGWINCH', () => {})"),
    'late.mjs': "import t from 'tap'\nsetTimeout(() => { throw new Error('thrown late') }, 100)\nt.pass('early')\n",
  })
  const names = ['throws.mjs', 'rejects.mjs', 'fine.mjs', 'piles.mjs', 'late.mjs']
  const { status, stdout } = spawnSync(process.execPath, [TOGETHER, ...names.map(name => join(folder, name))], {
    encoding: 'utf8',
  })
  t.equal(status, 1)
  const { passed, failed, failures } = readTap(stdout)
  t.same({ passed, failed }, { passed: 6, failed: 4 })
  for (const name of [
    'thrown astray',
    'rejected astray',
    'thrown late',
    'Possible EventEmitter memory leak detected. 11 SIGWINCH',
  ])
    t.match(failures, `- ${name}`)
  t.notMatch(failures, /before|- after/)
})
