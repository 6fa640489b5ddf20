import t from 'tap'
import { again, compareCpu } from '../../bench/report/dearer.ts'
import { Results } from '../../bench/report/results.ts'
import { GATEWAY } from '../../bench/report/targets.ts'

t.test('a workload is dearer only beyond two percent and beyond the spread of two equal subjects', async t => {
  const rows: [title: string, ours: number[], theirs: number[], again: number[], says: string][] = [
    ['five percent, calm', [105, 105, 106], [100, 100, 101], [101, 100, 100], 'dearer'],
    ['one percent, calm', [101, 101, 101], [100, 100, 100], [101, 100, 99], 'equal'],
    ['five percent less', [95, 95, 95], [100, 100, 100], [100, 101, 100], 'cheaper'],
    [
      'five percent, and equal subjects differ by six',
      [105, 105, 105],
      [100, 100, 100],
      [106, 94, 107],
      'not measured',
    ],
    ['nothing, and equal subjects differ by six', [100, 100, 100], [100, 100, 100], [106, 94, 107], 'not measured'],
    ['twenty percent, and equal subjects differ by six', [120, 121, 119], [100, 100, 100], [106, 94, 107], 'dearer'],
    ['the machine is slower in one round for all', [105, 210, 105], [100, 200, 100], [100, 200, 101], 'dearer'],
  ]
  for (const [title, ours, theirs, twice, says] of rows) {
    const results = new Results()
    for (const value of ours) results.add('w', GATEWAY, 'cpuUs', value)
    for (const value of theirs) results.add('w', 'rev', 'cpuUs', value)
    for (const value of twice) results.add('w', again('rev'), 'cpuUs', value)
    t.equal(compareCpu(results, 'rev')[0]?.says, says, title)
  }
})

t.test('workloads that have no CPU time, or were not measured twice, are not compared', async t => {
  const results = new Results()
  results.add('start', GATEWAY, 'startMs', 1)
  results.add('w', GATEWAY, 'cpuUs', 1)
  results.add('w', 'rev', 'cpuUs', 1)
  t.same(compareCpu(results, 'rev'), [])
})
