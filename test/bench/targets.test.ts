import t from 'tap'
import { WORKLOADS } from '../../bench/parts/workloads.ts'
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
  t.match(verdicts(results, [target('times', 1.2)]), [{ reached: 1.2, says: 'ok' }])
  t.match(verdicts(results, [target('times', 1.19)]), [{ reached: 1.2, says: 'missed' }])
  t.match(verdicts(results, [target('more', 40)]), [{ reached: 40, says: 'ok' }])
  t.match(verdicts(results, [target('value', 239)]), [{ reached: 240, says: 'missed' }])
})

t.test(
  'a tail counts only where the other subject differs from itself by less than half of what is allowed',
  async t => {
    const tail = (kind: Target['kind'], most: number): Target => ({ ...target(kind, most), isTail: true })
    const calm = measured([120, 130, 150], [100, 110, 105])
    t.match(verdicts(calm, [tail('more', 20)]), [{ reached: 20, says: 'ok' }], 'spread 10 of 20')
    t.match(verdicts(calm, [tail('more', 19)]), [{ reached: 20, says: 'not measured' }])
    t.match(verdicts(calm, [tail('times', 1.195)]), [{ says: 'missed' }], 'spread 9.5 %')
    t.match(
      verdicts(measured([120], [100]), [tail('more', 100)]),
      [{ says: 'not measured' }],
      'one round tells nothing of itself',
    )
    const noisy = measured([120, 130, 150], [100, 210, 105])
    t.match(verdicts(noisy, [tail('more', 200)]), [{ says: 'not measured' }])
    t.match(verdicts(noisy, [tail('times', 2)]), [{ says: 'not measured' }], 'never passed')
    t.match(verdicts(noisy, [target('times', 2)]), [{ says: 'ok' }], 'what is no tail is judged all the same')
  },
)

t.test('every target is of a workload that there is', async t => {
  const names = new Set(WORKLOADS.map(({ name }) => name))
  for (const { workload } of TARGETS) t.ok(names.has(workload), workload)
})

t.test('what was not measured has no verdict', async t => {
  t.same(verdicts(measured([1], []), [target('times', 1)]), [])
  t.same(verdicts(new Results()), [])
})

t.test('every ratio names what it is one of', async t => {
  for (const { kind, than, workload } of TARGETS) t.equal(kind === 'value', than === undefined, workload)
})
