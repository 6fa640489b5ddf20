/**
 * What goes on to a client once its charge is kept is no longer called by anything that catches: a failure there was an
 * unhandled rejection, and nothing behind it was ever done.
 */
// The bug behind these rows: a failure behind the charge.
import t from 'tap'
import { Reply } from '../../lib/base/reply.ts'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'

t.test('a head that cannot be written ends its own exchange', async t => {
  const s = await open(t)
  t.intercept(Reply.prototype, 'begin', {
    value: () => {
      throw new Error('no head')
    },
  })
  s.at('a').script = answers(100, 10)
  t.equal(await s.ask(document()).end(), 'cut')
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, rows: [{ charge: 280 }] })
  t.match(books.failures, [{ err: { message: 'no head' } }])
})
