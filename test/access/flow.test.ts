import t from 'tap'
import { Flow } from '../../lib/access/slots.ts'

t.test('how many are to be expected', async t => {
  const rows: [asked: number, afterMs: number, expected: number][] = [
    [10, 1000, 100],
    [1, 4000, 2],
    [1, 3_600_000, 0],
    [20, 0, 200],
    [0, 5000, 0],
  ]
  for (const [asked, afterMs, expected] of rows) {
    const flow = new Flow()
    for (let i = 0; i < 50; i++) flow.add()
    t.equal(flow.expected(7000, 10_000), 0, 'nobody knows after a first burst')
    flow.restart(7000)
    for (let i = 0; i < asked; i++) flow.add()
    t.equal(flow.expected(7000 + afterMs, 10_000), expected, `${asked} in ${afterMs} ms`)
  }
})
