/**
 * An upstream announced more bytes than it sent, and what it sent was a whole document: the gateway ended its answer as if
 * all were well, and the client, who had been told of more, waited for ever on a connection that was kept open.
 */
// The bug behind these rows: a length that is not kept.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { document } from './support/speech.ts'

const BODY = JSON.stringify({
  choices: [{ message: { content: 'hello' } }],
  usage: { prompt_tokens: 100, completion_tokens: 10 },
})

t.test(
  'a whole document in fewer bytes than were announced: the client sees a break, and pays what was reported',
  async t => {
    const s = await open(t, {})
    const client = s.ask(document())
    const call = await s.at('a').call()
    call.start(200, { 'content-type': 'application/json', 'content-length': String(BODY.length + 100) })
    call.raw(BODY)
    await s.goOn()
    await client.sees('hello')
    call.reset()
    t.equal(await client.end(), 'cut')
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    t.match(books.rows, [{ charge: 280, basis: 'reported' }])
  },
)

t.test(
  'the same while the head waits for the end: nothing was promised, and the client has the whole document',
  async t => {
    const s = await open(t, {})
    const client = s.ask(document())
    const call = await s.at('a').call()
    call.start(200, { 'content-type': 'application/json', 'content-length': String(BODY.length + 100) })
    call.raw(BODY)
    await s.settled()
    call.reset()
    t.equal(await client.end(), 'whole')
    t.equal(client.text, BODY)
    t.equal(client.answer.headers.get('x-gateway-charge'), '0.000280')
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ charge: 280 }] })
  },
)
