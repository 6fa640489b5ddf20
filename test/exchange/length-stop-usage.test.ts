/** At the end of the money, clients of generate-content and responses were told of the prompt only what no cache had. */
// The bug behind these rows: length stops without what caches held.
import t from 'tap'
import { asks, SENT, TEXT } from './support/four.ts'
import { open } from './support/gateway.ts'

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const USAGE = { promptTokenCount: 30, cachedContentTokenCount: 20, candidatesTokenCount: 1, totalTokenCount: 31 }

t.test('the prompt of a length stop is all of it', async t => {
  const s = await open(t, {
    channels: { a: { protocols: ['generate'] } },
    prices: { m: { input: 2, output: 8, cache_read: 1 } },
    config: { hold: { output_tokens: 16 } },
    key: { cap: 0.001 },
  })
  const asked = s.ask(asks('generate', 'm', { stream: true, max: 5000 }))
  const call = await s.at('a').call()
  call.stream()
  const parts = [{ text: TEXT }]
  call.chunk(data({ candidates: [{ index: 0, content: { parts } }], usageMetadata: USAGE }))
  for (let n = 0; n < 60 && !call.closed; n++) {
    call.chunk(SENT.generate.text)
    await s.settled()
  }
  t.equal(await asked.end(), 'whole')
  const last = JSON.parse(asked.text.trimEnd().split('data: ').at(-1) ?? '')
  const [row] = (await s.books()).rows
  t.match(row, { input: 10, cache_read: 20 })
  t.match(last, {
    candidates: [{ finishReason: 'MAX_TOKENS' }],
    usageMetadata: { promptTokenCount: 30, cachedContentTokenCount: 20, candidatesTokenCount: row?.output },
  })
})
