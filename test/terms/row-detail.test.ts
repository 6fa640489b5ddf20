import t from 'tap'
import { TOKEN_CLASSES } from '../../lib/protocols/words/usage.ts'
import { type AttemptNote, detailText, type Line, readDetail, type UsageRow } from '../../lib/terms/usage-row.ts'
import { seeded } from '../support/random.ts'

const ROW: Pick<UsageRow, 'model' | 'priceVersion' | 'channel' | 'status'> = {
  model: 'm "1"',
  priceVersion: 7,
  channel: 'one',
  status: 200,
}
const USUAL = { model: ROW.model, priceVersion: 7, list: 'base', tier: 1_000_000, tierName: null } as const

t.test('what is usual is left out', t => {
  const lines: Line[] = [
    { ...USUAL, class: 'input', count: 12, price: 3_000_000 },
    { ...USUAL, class: 'output', count: 34, price: 15_000_000 },
  ]
  const attempts = [{ channel: 'one', status: 200, error: null, ms: 7 }]
  t.equal(detailText({ ...ROW, lines, attempts }), '[[["input",12,3000000],["output",34,15000000]],[[7]]]')
  t.equal(detailText({ ...ROW, lines: [], attempts: [] }), null)
  t.end()
})

t.test('whatever it is, it is read as it was', t => {
  const random = seeded(t)
  const text = () => random.pick(['one', 'm "1"', '模型\u2028', '\\', '', '\ud800'])
  for (let i = 0; i < 2_000; i++) {
    const line = (): Line => ({
      ...USUAL,
      ...(random.next() < 0.5 ? { model: text() } : {}),
      ...(random.next() < 0.5 ? { priceVersion: random.pick([null, 7, 8]) } : {}),
      ...(random.next() < 0.5 ? { list: random.pick([200_000, 'base']) } : {}),
      ...(random.next() < 0.5 ? { tier: random.int(0, 3_000_000), tierName: random.pick([null, text()]) } : {}),
      ...(random.next() < 0.5 ? { priceRow: text() } : {}),
      class: random.pick(TOKEN_CLASSES),
      count: random.int(0, 1e9),
      price: random.int(0, 1e15),
    })
    const attempt = (): AttemptNote => ({
      channel: text(),
      status: random.pick([200, 0, 502]),
      error: random.pick([null, 'ECONNRESET', text()]),
      ms: random.int(0, 9_000),
    })
    const list = <T>(make: () => T): T[] => Array.from({ length: random.int(0, 3) }, make)
    const detail = { lines: list(line), attempts: list(attempt) }
    t.strictSame(readDetail(ROW, detailText({ ...ROW, ...detail })), detail)
  }
  t.end()
})
