/**
 * A rerank request was one request, whatever it was billed as: 10,000 documents with 100 units of search reported were charged
 * as one.
 */
// The bug behind these rows: a hundred units for one.
import t from 'tap'
import { HEADERS, MODEL, open } from './support/gateway.ts'
import { until } from '../support/wait.ts'

const FEE = 14_000
const results = [{ index: 0, relevance_score: 0.5 }]
const units = (search_units?: number) => ({
  results,
  meta: { billed_units: search_units === undefined ? {} : { search_units } },
})
const docs = (count: number, bytes: number) => Array.from({ length: count }, () => 'x'.repeat(bytes))

t.test('units that are reported, at most as many as the documents come to; none reported is one', async t => {
  const rows: [body: object, held: number, reported: object, charged: number][] = [
    [{ query: 'q', documents: docs(10_000, 20) }, 100, units(100), 100],
    [{ query: 'q', documents: docs(10_000, 20) }, 100, units(7), 7],
    [{ query: 'q', documents: docs(10_000, 20) }, 100, units(), 1],
    [{ query: 'q', documents: docs(10_000, 20) }, 100, { results }, 1],
    [{ query: 'q', documents: docs(10_000, 20) }, 100, units(900_000), 100],
    [{ documents: docs(10_000, 20), query: 'q' }, 100, units(0.2), 1],
    [{ query: 'q', documents: docs(1, 20) }, 1, units(5), 1],
    [{ query: 'q', documents: [] }, 1, units(5), 1],
    // a document with its query is split into pieces of 500 bytes
    [{ query: 'q'.repeat(100), documents: docs(100, 400) }, 1, units(2), 1],
    [{ query: 'q'.repeat(101), documents: docs(100, 400) }, 2, units(2), 2],
    [{ documents: docs(100, 1400), query: 'q'.repeat(101) }, 4, units(5), 4],
    [{ query: 'q', documents: docs(101, 1) }, 2, units(2), 2],
    [{ query: 'q', documents: Array.from({ length: 200 }, () => ({ text: 'x' })) }, 2, units(2), 2],
    [{ query: 'q', documents: 'x'.repeat(50_000) }, 2, units(2), 2],
  ]
  const s = await open(t, { model: { price: { request: 0.014 } } })
  for (const [body, held, answer, charged] of rows) {
    const name = JSON.stringify(body).slice(0, 60)
    const calls = s.at('a').calls.length
    const client = s.ask({ path: '/v1/rerank', headers: HEADERS, body: { model: MODEL, ...body } })
    await until('the upstream is asked', () => s.at('a').calls.length > calls)
    t.equal(s.services.ledger.heldTotal, held * FEE, `held for ${name}`)
    s.at('a').calls[calls]?.whole(200, answer)
    await client.end()
    const { rows: kept, ok } = await s.books()
    t.same([kept.at(-1)?.charge, ok], [charged * FEE, true], `charged for ${name}`)
    const told = Math.ceil((answer as ReturnType<typeof units>).meta?.billed_units.search_units ?? 1)
    t.equal(kept.at(-1)?.disputed, Math.max(0, told - charged) * FEE, 'what is above stands open')
    t.equal(kept.at(-1)?.lines.find(line => line.class === 'request')?.count, charged)
  }
})
