/**
 * What is compressed is unfolded beside its way to the client. An answer that broke off in that moment was charged without
 * what was still folded, often nothing at all; and one that ended in the middle of its compression cost its few bytes.
 */
// The bug behind these rows: compressed and broken off.
import { constants, gzipSync } from 'node:zlib'
import t from 'tap'
import { NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'
import type { Call } from './support/upstream.ts'

const WORDS = Array.from({ length: 3000 }, (_, i) => ((i * 7919) % 10_007).toString(36)).join(' ')
const TOKENS = WORDS.length / 4.4
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
/** All of it can be unfolded, and its end is missing. */
const BEGUN = gzipSync(data({ choices: [{ delta: { content: WORDS } }] }), { finishFlush: constants.Z_SYNC_FLUSH })

const ENDS: Record<string, { how: (call: Call, s: Scene, leave: () => void) => void | Promise<void>; end: string }> = {
  'a reset': { how: call => call.reset(), end: 'upstream_cut' },
  'an end of its connection': { how: call => call.halfClose(), end: 'upstream_cut' },
  'an end in the midst of its compression': { how: call => call.end(), end: 'completed' },
  'a client that leaves': {
    how: async (_, s, leave) => {
      await s.settled()
      leave()
      await s.readOut()
    },
    end: 'client_gone',
  },
}

for (const [name, { how, end }] of Object.entries(ENDS))
  t.test(name, async t => {
    const s = await open(t, { config: { client_gone: { concurrent: 0 } } })
    const client = s.ask(SPEECH.chat.ask)
    const call = await s.at('a').call()
    call.stream({ 'content-encoding': 'gzip' })
    call.chunk(BEGUN)
    await how(call, s, () => client.leave())
    if (end !== 'client_gone') await client.end()
    const { rows, ...books } = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    t.match(rows, [{ end, basis: 'counted' }])
    const { output = 0, input = 0 } = rows[0] ?? {}
    t.ok(input > 0 && output > TOKENS * 0.95 && output < TOKENS * 1.1, `${output} of ${TOKENS}`)
  })
