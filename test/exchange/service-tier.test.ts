/**
 * A service tier was read on the protocols of text only. A request for pictures, vectors, sound or a ranking could ask for a tier
 * that its upstream reads and bills at twice the price, and was neither refused nor held and charged at that price.
 */
// The bug behind these rows: a tier that was not read.
import t from 'tap'
import { CLIENT_PROTOCOLS, FORMS } from '../../lib/protocols/names.ts'
import { protocolOf } from '../../lib/protocols/table.ts'
import { HEADERS, NOTHING_LEFT, open } from './support/gateway.ts'

const FORM = 'multipart/form-data; boundary=b'
const part = (head: string, value: string) => `--b\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`
const sound = (tier: string) =>
  `${part('name="model"', 'm')}${part('name="service_tier"', tier)}${part('name="file"; filename="a.mp3"', 'abc')}--b--\r\n`

/** Where the tier stands in a request of each protocol. */
const ASKS: Record<string, (tier: string) => { path: string; body: object | string; type?: string }> = {
  messages: tier => ({ path: '/v1/messages', body: { model: 'm', max_tokens: 9, messages: [], service_tier: tier } }),
  chat: tier => ({ path: '/v1/chat/completions', body: { model: 'm', messages: [], service_tier: tier } }),
  responses: tier => ({ path: '/v1/responses', body: { model: 'm', input: 'x', service_tier: tier } }),
  completions: tier => ({ path: '/v1/completions', body: { model: 'm', prompt: 'x', service_tier: tier } }),
  images: tier => ({ path: '/v1/images/generations', body: { model: 'm', prompt: 'x', service_tier: tier } }),
  generate: tier => ({ path: '/v1beta/models/m:generateContent', body: { contents: [], serviceTier: tier } }),
  embeddings: tier => ({ path: '/v1/embeddings', body: { model: 'm', input: 'x', service_tier: tier } }),
  nativeEmbeddings: tier => ({ path: '/v1beta/models/m:embedContent', body: { content: {}, serviceTier: tier } }),
  rerank: tier => ({ path: '/v1/rerank', body: { model: 'm', query: 'x', documents: ['y'], service_tier: tier } }),
  moderations: tier => ({ path: '/v1/moderations', body: { model: 'm', input: 'x', service_tier: tier } }),
  speech: tier => ({ path: '/v1/audio/speech', body: { model: 'm', input: 'x', service_tier: tier } }),
  transcriptions: tier => ({ path: '/v1/audio/transcriptions', body: sound(tier), type: FORM }),
}
const PRICE = { input: 2, output: 8, image: 0.5, second: 0.1, character: 1 }

t.test('every protocol', async t => {
  const s = await open(t, { prices: { m: { ...PRICE, tiers: { priority: 2 } } }, model: { max_output: 10 } })
  s.at('a').script = call => call.whole(200, { usage: { prompt_tokens: 10, input_tokens: 10, total_tokens: 10 } })
  for (const protocol of FORMS.filter(form => CLIENT_PROTOCOLS.includes(protocolOf(form)))) {
    const status = async (tier: string) => {
      const { path, body, type = 'application/json' } = ASKS[protocol]!(tier)
      const client = s.ask({ path, body, headers: { ...HEADERS, 'content-type': type } })
      await client.end()
      return [client.status, /service_?tier/i.test(client.answer.body)]
    }
    t.same(await status('scale'), [400, true], `${protocol}: not listed`)
    const before = s.at('a').calls.length
    t.same(await status('flex'), [200, false], `${protocol}: cannot cost more`)
    t.same(await status('priority'), [200, false], `${protocol}: listed`)
    t.equal(s.at('a').calls.length, before + 2, protocol)
  }
  const { rows, left } = await s.books()
  t.same(left, NOTHING_LEFT)
  const vectors = rows.filter(row => row.protocol === 'embeddings')
  t.same(
    vectors.map(({ charge, held }) => [charge, (held as number) >= charge]),
    [
      [20, true],
      [40, true],
      [20, true],
      [40, true],
    ],
    'both forms are charged and held at the factor that was asked for',
  )
})
