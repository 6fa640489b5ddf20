import t from 'tap'
import { Burn } from '../../lib/ledger/lease.ts'

t.test('the rate of charges', async t => {
  const steady = new Burn(0)
  for (let ms = 0; ms <= 60_000; ms += 100) steady.charge(50, 0, ms)
  t.ok(Math.abs(steady.perMs(60_000) - 0.5) < 0.01, `50 each 100 ms is ${steady.perMs(60_000)} a ms`)

  const quiet = new Burn(0)
  quiet.charge(1, 0, 0)
  quiet.charge(10_000, 0, 60_000)
  t.ok(quiet.perMs(60_000) > 0.9, `a charge after a quiet minute counts whole: ${quiet.perMs(60_000)}`)
})
