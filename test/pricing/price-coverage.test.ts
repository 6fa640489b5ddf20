/**
 * A model that was priced by the picture alone, asked for text, held and charged nothing for 60,000 tokens; one with a
 * price of output alone charged a million input tokens nothing.
 */
// The bug behind these rows: a price that does not cover.
import t from 'tap'
import { compileTariff } from '../../lib/pricing/tariff.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import type { Price } from '../../lib/terms/records.ts'
import { KEY, MODEL, open } from '../exchange/support/gateway.ts'
import { SPEECH } from '../exchange/support/speech.ts'
import { TALKING } from '../support/talking.ts'

const TEXT = ['messages', 'chat', 'responses', 'generate'] as const

t.test('what covers what', async t => {
  const rows: [Price, readonly string[]][] = [
    [{ request: 0 }, TALKING],
    [{ input: 1, output: 1 }, TALKING],
    [{ input: 0, output: 0 }, TALKING],
    [{ image: 1 }, ['images']],
    [{ input: 1 }, []],
    [{ output: 1 }, []],
    [{ input: 1, image: 1 }, ['images']],
    [{ input: 1, request: 1 }, TALKING],
    [{ cache_read: 1 }, []],
  ]
  const group = { name: 'g', multiplier: 1_000_000, rate: null, hedgeMs: 0, readOns: 256, public: false }
  const rest = { name: 'm', maxOutput: null, defaultOutput: 1, inputFactor: 1, ...MODEL_DEFAULTS }
  for (const [price, want] of rows)
    t.same(
      TALKING.filter(protocol => compileTariff({ ...rest, price }, group)?.covers(protocol)),
      want,
      JSON.stringify(price),
    )
})

t.test('elsewhere the model is not priced, and not listed', async t => {
  const s = await open(t, { model: { price: { image: 1 } } })
  for (const protocol of TEXT) {
    const client = s.ask(SPEECH[protocol].ask)
    await client.end()
    t.equal(client.status, 400)
    t.match(client.text, `模型 ${MODEL} 的价格尚未由管理员配置`)
  }
  t.same(s.asked(), { a: 0 })
  const listed = async (path: string) => {
    const answer = await fetch(s.urls.main + path, { headers: { authorization: `Bearer ${KEY}` } })
    return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
  }
  t.same(await listed('/v1/models'), [MODEL], 'it is routed for images too')
  await s.changeChannel('a', { protocols: [...TEXT] })
  t.same(await listed('/v1/models'), [])
})
