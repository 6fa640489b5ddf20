import t from 'tap'
import { Results } from '../../bench/report/results.ts'
import { BARE, GATEWAY, TARGETS, type Target, verdicts } from '../../bench/report/targets.ts'

const target = (kind: Target['kind'], most: number): Target => ({
  workload: 'w',
  figure: 'cpuUs',
  kind,
  than: BARE,
  most,
})

function measured(gateway: number[], bare: number[]): Results {
  const results = new Results()
  for (const value of gateway) results.add('w', GATEWAY, 'cpuUs', value)
  for (const value of bare) results.add('w', BARE, 'cpuUs', value)
  return results
}

t.test('ratios and differences are taken within a round, then the median', async t => {
  // the machine was twice as slow in the second round, and the third was disturbed
  const results = measured([120, 240, 500], [100, 200, 100])
  t.match(verdicts(results, [target('times', 1.2)]), [{ reached: 1.2, ok: true }])
  t.match(verdicts(results, [target('times', 1.19)]), [{ reached: 1.2, ok: false }])
  t.match(verdicts(results, [target('more', 40)]), [{ reached: 40, ok: true }])
  t.match(verdicts(results, [target('value', 239)]), [{ reached: 240, ok: false }])
})

t.test('what was not measured has no verdict', async t => {
  t.same(verdicts(measured([1], []), [target('times', 1)]), [])
  t.same(verdicts(new Results()), [])
})

t.test('every ratio names what it is one of', async t => {
  for (const { kind, than, workload } of TARGETS) t.equal(kind === 'value', than === undefined, workload)
})
