/** Where the ledger failed to settle, the hold was never given back, and an upstream that was read on after its client had left kept its place for ever. */
// The bug behind these rows: a hold kept for ever.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { answers, document, SPEECH } from './support/speech.ts'
import { until } from '../support/wait.ts'

const WAYS = ['document', 'stream', 'broken', 'left'] as const

for (const way of WAYS)
  for (const times of [1, Number.POSITIVE_INFINITY])
    t.test(`${way}, ${times === 1 ? 'once' : 'always'}`, async t => {
      const s = await open(t)
      const { ledger } = s.services
      const settle = ledger.settle.bind(ledger)
      let failed = 0
      ledger.settle = (hold, row) => {
        if (failed++ < times) throw new Error('cannot be settled')
        return settle(hold, row)
      }
      const { ask, first, rest } = SPEECH.messages
      const client = s.ask(way === 'document' ? document() : ask)
      const call = await s.at('a').call()
      if (way === 'document') answers(100, 10)(call)
      else {
        call.stream()
        call.chunk(first)
        await client.sees(first)
        if (way === 'left') {
          client.leave()
          await until('the upstream is read on', () => s.services.readOns.size === 1)
        }
        if (way === 'broken') call.reset()
        else {
          call.chunk(rest)
          call.end()
        }
      }
      if (way !== 'left') t.ok((await client.end()) === 'cut' || client.status === 500)
      await until('the exchange is over', () => s.services.openCount === 0)
      const { left, ok, rows } = await s.books()
      t.same(left, NOTHING_LEFT)
      t.ok(ok)
      t.ok(rows.length === 0 || times === 1, 'nothing is in the books that could not be settled')
      t.ok(s.logged.some(line => String(line['msg']).startsWith('exchange failed')))
      ledger.settle = settle
      s.at('a').script = answers(100, 10)
      await s.ask(document()).end()
      t.match((await s.books()).rows.at(-1), { charge: 280 })
    })
