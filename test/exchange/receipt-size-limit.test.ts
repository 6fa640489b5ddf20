/**
 * A receipt had lines for each pass that an upstream reported. Some thousand short passes made a row so long that a batch with several
 * of them was larger than a database takes at once, and then nobody's charges were booked any more.
 */
// The bug behind these rows: a receipt without bounds.
import t from 'tap'
import { KEY, MODEL, NOTHING_LEFT, open } from './support/gateway.ts'

const PASSES = 800
const MOST_BYTES = 4_000

t.test('hundreds of passes share the lines of their model', async t => {
  const s = await open(t, {
    channels: { a: { models: { [MODEL]: 'up-m', dear: 'up-dear' } } },
    prices: { [MODEL]: { input: 2, output: 8, web_search: 0 }, dear: { input: 20, output: 80, web_search: 0 } },
  })
  const iterations = Array.from({ length: PASSES }, (_, i) => ({
    model: i % 2 === 0 ? 'up-m' : 'up-dear',
    input_tokens: 2,
    output_tokens: 1,
  }))
  s.at('a').script = call => call.whole(200, { content: [], usage: { input_tokens: 2, output_tokens: 1, iterations } })
  const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: PASSES }] // more passes than these allow are disputed
  const body = { model: MODEL, max_tokens: 100, messages: [], tools }
  t.equal(await s.ask({ path: '/v1/messages', headers: { 'x-api-key': KEY }, body }).end(), 'whole')
  const { rows, ...books } = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
  const row = rows.at(-1)
  const half = PASSES / 2
  t.match(row, { input: 2 * PASSES, output: PASSES, charge: half * (2 * 2 + 8) + half * (2 * 20 + 80) })
  t.match(row?.lines.map(({ model, class: name, count }) => [model, name, count]).sort(), [
    ['dear', 'input', PASSES],
    ['dear', 'output', half],
    [MODEL, 'input', PASSES],
    [MODEL, 'output', half],
  ])
  t.ok(JSON.stringify(row?.lines).length < MOST_BYTES)
})
