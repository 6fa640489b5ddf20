import t from 'tap'
import { Runner } from './simulation/run.ts'

/** `npm run simulate:books` runs more. */
const SEEDS = 25

/** `npm run simulate:books -- --seed N --trace` shows a failing one step by step. */
t.test('seeded runs of several gateways on one database, with everything that can go wrong', async t => {
  const runner = await new Runner().open()
  t.teardown(() => runner.close())
  const first = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 30))
  t.comment(`SEED=${first}`)
  for (let seed = first; seed < first + SEEDS; seed++) {
    const failure = await runner.run(seed)
    if (failure !== null) {
      t.fail(`seed ${seed}: ${failure.error}`, { again: `npm run simulate:books -- --seed ${seed} --trace` })
      return
    }
  }
  t.pass(`${SEEDS} seeds`)
})
