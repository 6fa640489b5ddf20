import t from 'tap'
import { Results } from '../../bench/report/results.ts'
import { tableLines } from '../../bench/report/table.ts'
import { BARE, EMPTY, GATEWAY, NGINX } from '../../bench/report/targets.ts'

t.test('subjects are columns, targets stand beside their figures', async t => {
  const results = new Results()
  for (const [subject, cpuUs] of [
    [BARE, 40],
    [GATEWAY, 36],
    [NGINX, 12],
  ] as const)
    results.add('64 paced streams', subject, 'cpuUs', cpuUs)
  for (let round = 0; round < 2; round++) {
    results.add('small JSON at 500/s', BARE, 'openP50Ms', 0.25)
    results.add('small JSON at 500/s', GATEWAY, 'openP50Ms', 0.4)
  }
  results.add('start', EMPTY, 'startMs', 40)
  results.add('start', GATEWAY, 'startMs', 98.7)
  t.same(tableLines(results, new Map([['64 paced streams', 'event']]), null), [
    '| workload | figure | bare | node -e 0 | nginx | gateway | ÷ bare | ÷ node -e 0 | target |  |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    '| 64 paced streams | CPU µs per event | 40.0 |  | 12.0 | 36.0 | 0.90 |  | ≤ 0.85 × bare | missed (0.90) |',
    '| small JSON at 500/s | latency in the open loop, ms, p50 | 0.250 |  |  | 0.400 | 1.60 |  | ≤ 0.1 over bare | missed (0.150) |',
    '| start | start to ready, ms |  | 40 |  | 99 |  | 2.47 | ≤ 2.5 × node -e 0 | ok (2.47) |',
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
