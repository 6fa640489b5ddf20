import t from 'tap'
import { Results } from '../../bench/report/results.ts'
import { tableLines } from '../../bench/report/table.ts'
import { BARE, GATEWAY, NGINX } from '../../bench/report/targets.ts'

t.test('subjects are columns, targets stand beside their figures', async t => {
  const results = new Results()
  for (const [subject, cpuUs] of [
    [BARE, 40],
    [GATEWAY, 36],
    [NGINX, 12],
  ] as const)
    results.add('paced stream', subject, 'cpuUs', cpuUs)
  results.add('small JSON', BARE, 'openP50Ms', 0.25)
  results.add('small JSON', GATEWAY, 'openP50Ms', 0.4)
  results.add('start', GATEWAY, 'startMs', 398.7)
  t.same(tableLines(results, new Map([['paced stream', 'event']]), null), [
    '| workload | figure | bare | nginx | gateway | ÷ bare | target |  |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    '| paced stream | CPU µs per event | 40.0 | 12.0 | 36.0 | 0.90 | ≤ 0.95 × bare; ≤ 1.8 × nginx | ok (0.90); missed (3.00) |',
    '| small JSON | latency in the open loop, ms, p50 | 0.250 |  | 0.400 | 1.60 | ≤ 0.1 over bare | missed (0.150) |',
    '| start | start to ready, ms |  |  | 399 |  | ≤ 400 | ok |',
  ])
})

t.test('another revision has a column, and so has what the gateway is of it', async t => {
  const results = new Results()
  results.add('burst stream', 'old', 'cpuUs', 200)
  results.add('burst stream', GATEWAY, 'cpuUs', 150)
  const [head, , row] = tableLines(results, new Map(), 'old')
  t.equal(head, '| workload | figure | old | gateway | ÷ old | target |  |')
  t.equal(row, '| burst stream | CPU µs per request | 200.0 | 150.0 | 0.75 |  |  |')
})
