/**
 * An answer in several passes of the model that was asked for was priced as one prompt: two passes of 800 tokens cost the price for
 * prompts of more than 1,000.
 */
// The bug behind these rows: passes priced as one prompt.
import t from 'tap'
import { KEY, MODEL, NOTHING_LEFT, open } from './support/gateway.ts'

const pass = (type: string, input_tokens: number, output_tokens: number) => ({ type, input_tokens, output_tokens })
const PRICE = { input: 10, output: 20, over: [{ tokens: 1_000, input: 30, output: 50 }] }

const ROWS: [what: string, iterations: object[] | undefined, top: [input: number, output: number], charge: number][] = [
  ['two passes below the threshold', [pass('compaction', 800, 10), pass('message', 800, 10)], [800, 10], 16_400],
  ['one of them above', [pass('compaction', 1_001, 10), pass('message', 800, 10)], [800, 10], 30_030 + 500 + 8_200],
  ['one pass above', [pass('message', 1_600, 20)], [1_600, 20], 49_000],
  ['no passes', undefined, [1_600, 20], 49_000],
  ['only the first pass has anything', [pass('compaction', 144, 276)], [0, 0], 1_440 + 5_520],
]

t.test('each pass has the price of its own prompt', async t => {
  const s = await open(t, { prices: { [MODEL]: PRICE } })
  for (const stream of [false, true])
    for (const [what, iterations, [input_tokens, output_tokens], charge] of ROWS) {
      const usage = { input_tokens, output_tokens, ...(iterations === undefined ? {} : { iterations }) }
      s.at('a').script = call => {
        if (!stream) {
          call.whole(200, { content: [], usage })
          return
        }
        const start = { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens, output_tokens: 1 } } }
        call.stream()
        for (const event of [start, { type: 'message_delta', delta: {}, usage }, { type: 'message_stop' }])
          call.chunk(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        call.end()
      }
      const messages = [{ role: 'user', content: 'a word '.repeat(1_000) }]
      const client = s.ask({
        path: '/v1/messages',
        headers: { 'x-api-key': KEY },
        body: { model: MODEL, max_tokens: 1_000, stream, messages },
      })
      t.equal(await client.end(), 'whole')
      const { rows, ...books } = await s.books()
      t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
      t.match(rows.at(-1), { charge, basis: 'reported' }, `${what}, stream ${stream}`)
    }
})
