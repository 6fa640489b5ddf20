/**
 * The usage of a document was kept up to 64 KiB. An answer of some hundred passes reports more than that, so it counted as one
 * without a report, and was charged by its bytes at the price of the asked model alone.
 */
// The bug behind these rows: a usage too long to be read.
import t from 'tap'
import { KEY, MODEL, NOTHING_LEFT, open } from './support/gateway.ts'

const PASSES = 3_000
const MOST_BYTES = 1024 * 1024

for (const chunked of [false, true])
  t.test(`thousands of passes, ${chunked ? 'in pieces' : 'at once'}`, async t => {
    const s = await open(t, {
      channels: { a: { models: { [MODEL]: 'up-m', dear: 'up-dear' } } },
      prices: { [MODEL]: { input: 2, output: 8, web_search: 0 }, dear: { input: 20, output: 80, web_search: 0 } },
    })
    const iterations = Array.from({ length: PASSES }, (_, i) => ({
      type: 'message',
      model: i % 2 === 0 ? 'up-m' : 'up-dear',
      input_tokens: 2,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1,
    }))
    const text = JSON.stringify({ content: [], usage: { input_tokens: 2, output_tokens: 1, iterations } })
    t.ok(text.length > 4 * 64 * 1024 && text.length < MOST_BYTES, `${text.length} bytes`)
    s.at('a').script = call => {
      if (!chunked) {
        call.whole(200, text)
        return
      }
      call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
      for (let i = 0; i < text.length; i += 10_000) call.chunk(text.slice(i, i + 10_000))
      call.end()
    }
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: PASSES }] // more passes than these allow are disputed
    const body = { model: MODEL, max_tokens: 100, messages: [], tools }
    t.equal(await s.ask({ path: '/v1/messages', headers: { 'x-api-key': KEY }, body }).end(), 'whole')
    const { rows, ...books } = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    const half = PASSES / 2
    t.match(rows, [
      { basis: 'reported', input: 2 * PASSES, output: PASSES, charge: half * (2 * 2 + 8) + half * (2 * 20 + 80) },
    ])
  })
