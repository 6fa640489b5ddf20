/** Scripts that are run by hand say how before they do anything. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SCRIPTS = {
  bench: 'bench/run.ts',
  'bench:account': 'bench/account.ts',
  'bench:console': 'bench/console-load.ts',
  'bench:money': 'bench/money.ts',
  'bench:sign-ins': 'bench/sign-ins.ts',
  'bench:store': 'bench/store.ts',
  chaos: 'bench/chaos/run.ts',
  profile: 'bench/profile.ts',
  restarts: 'bench/restarts.ts',
  screens: 'test/console/screens.ts',
  'simulate:books': 'test/ledger/simulation/main.ts',
  soak: 'test/soak/run.ts',
  streams: 'bench/streams.ts',
}

const run = (file: string, word: string) => spawnSync(process.execPath, [file, word], { cwd: ROOT, encoding: 'utf8' })
const usageOf = (name: string) => new RegExp(`^\`npm run ${name}[ \`]`, 'm')

for (const [name, file] of Object.entries(SCRIPTS))
  t.test(name, async t => {
    const wrong = run(file, '--no-such')
    t.match(wrong, { status: 2, stdout: '', stderr: /^Unknown option '--no-such'/ })
    t.match(wrong.stderr, usageOf(name))
  })

t.test('who asks for help gets the same', async t =>
  t.match(run(SCRIPTS.bench, '--help'), { status: 0, stdout: usageOf('bench'), stderr: '' }),
)
