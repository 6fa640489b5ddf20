/** What a process of tests writes: nothing is lost or put out of order, however the process ends. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'

const GATHER = `import { gatherOutput } from ${JSON.stringify(new URL('output.ts', import.meta.url).href)}\ngatherOutput()\n`

const run = (program: string) => {
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', GATHER + program], {
    encoding: 'utf8',
  })
  return { stdout, status }
}

t.test('texts and bytes come in their order, short and long, and whoever waits for a write hears of it', async t => {
  const program = `
    process.stdout.write('one ')
    process.stdout.write(Buffer.from('two '))
    process.stdout.write('x'.repeat(100_000))
    process.stdout.write(' three', () => process.stdout.write(' heard'))`
  t.same(run(program), { stdout: `one two ${'x'.repeat(100_000)} three heard`, status: 0 })
})

t.test('what is gathered is written when the process exits, and when nobody catches what it throws', async t => {
  t.same(run(`process.stdout.write('last'); process.exit(3)`), { stdout: 'last', status: 3 })
  t.same(run(`process.stdout.write('last'); throw new Error('nobody catches this')`), { stdout: 'last', status: 1 })
})

t.test('a process that goes on is heard', async t => {
  const program = `${GATHER}process.stdout.write('told'); setInterval(() => {}, 60_000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [told] = (await once(child.stdout, 'data')) as [Buffer]
  t.equal(told.toString(), 'told')
})
