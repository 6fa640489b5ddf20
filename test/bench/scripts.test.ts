/** Scripts that are run by hand say how before they do anything. */
import t from 'tap'
import { runScript, usageOf, wantUsage } from '../support/script-usage.ts'

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
  'simulate:books': 'test/ledger/simulation/main.ts',
  soak: 'test/soak/run.ts',
  streams: 'bench/streams.ts',
  test: 'test/run.ts',
}

for (const [name, file] of Object.entries(SCRIPTS)) t.test(name, async t => wantUsage(t, name, file))

t.test('who asks for help gets the same', async t =>
  t.match(runScript(SCRIPTS.bench, '--help'), { status: 0, stdout: usageOf('bench'), stderr: '' }),
)
