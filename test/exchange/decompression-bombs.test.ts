/** An upstream compresses its answer and does it wrongly: the exchange ends all the same, and nobody else waits for it. */
// The bug behind these rows: an answer that never unfolds.
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { protocolRow } from '../../lib/protocols/table.ts'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'

const PACK = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, zstd: zstdCompressSync }
const { ask, first, rest } = SPEECH.chat
const COMPLETE = Buffer.from(first + rest)

/** Before the meter sees them. */
function lookAt(t: Test, look: (chunk: Buffer) => void): void {
  const row = protocolRow('chat')
  const { meter } = row
  t.teardown(() => Object.assign(row, { meter }))
  row.meter = options => {
    const made = meter(options)
    const { feed } = made
    made.feed = (chunk, text) => {
      look(chunk)
      feed.call(made, chunk, text)
    }
    return made
  }
}

for (const [encoding, pack] of Object.entries(PACK))
  t.test(`${encoding}: bytes behind the end of what is compressed`, async t => {
    const tails = { 'what is none': Buffer.from('junkjunkjunk'), 'the same again': pack(COMPLETE) }
    for (const [what, tail] of Object.entries(tails))
      for (const config of [{}, { hold: { output_tokens: 2 } }]) {
        const s = await open(t, { config })
        const client = s.ask(ask)
        const call = await s.at('a').call()
        call.stream({ 'content-encoding': encoding })
        for (const part of [pack(COMPLETE), tail, tail]) {
          call.chunk(part)
          await s.settled()
        }
        call.end()
        await client.end()
        const books = await s.books()
        t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] }, `${what}, ${JSON.stringify(config)}`)
        t.ok((books.rows[0]?.charge ?? 0) > 0, 'charged')
      }
  })

t.test('a few bytes that unfold to more than any answer', async t => {
  const bomb = brotliCompressSync(Buffer.alloc(64 * 1024 * 1024, ' '))
  for (const config of [{}, { hold: { output_tokens: 2 } }]) {
    let unfolded = 0
    lookAt(t, chunk => {
      unfolded += chunk.length
    })
    const s = await open(t, { config })
    const client = s.ask(ask)
    const call = await s.at('a').call()
    call.stream({ 'content-encoding': 'br' })
    call.chunk(bomb)
    call.end()
    await client.end()
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
    t.ok(unfolded < 20 * 1024 * 1024, `of 64 MiB no more is looked at than ${unfolded} bytes`)
  }
})

t.test('what is thrown where unfolded bytes are counted ends this exchange and no other', async t => {
  lookAt(t, () => {
    throw new Error('broken')
  })
  const s = await open(t)
  const client = s.ask(ask)
  const call = await s.at('a').call()
  call.stream({ 'content-encoding': 'gzip' })
  call.chunk(gzipSync(COMPLETE))
  call.end()
  t.equal(await client.end(), 'cut')
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT })
  t.equal(books.failures.length, 1)
})
