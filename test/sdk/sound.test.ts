/**
 * Speech and transcriptions through a whole gateway: the official SDK, what it gets, and what is charged, to the micro-unit.
 */
import OpenAI from 'openai'
import t from 'tap'
import { KEY, POOR_KEY, startGateway, testCatalog } from '../support/gateway.ts'

const PROTOCOLS = ['speech']
const MODELS = [
  { name: 'voice-by-character', price: { character: 108 } },
  { name: 'voice-by-second', price: { second: 0.002 } },
  { name: 'voice-by-request', price: { request: 0.01 } },
  { name: 'voice-by-token', price: { request: 0, input: 4.2, output: 84 } },
  { name: 'voice-tokens-only', price: { input: 4.2, output: 84 } },
]
const gateway = await startGateway({
  catalog: upstream => {
    const catalog = testCatalog(upstream)
    const names = MODELS.map(({ name }) => [name, `up-${name}`])
    const more = { name: 'sound', base_url: upstream, protocols: PROTOCOLS, key: 'up', groups: ['default'] }
    return {
      ...catalog,
      models: [...(catalog['models'] as object[]), ...MODELS],
      channels: [...(catalog['channels'] as object[]), { ...more, models: Object.fromEntries(names) }],
    }
  },
})
t.teardown(() => gateway.stop())
const openai = new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 })
const post = (path: string, body: object, key = KEY) =>
  fetch(gateway.main + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })

let rows = 0
async function charged(): Promise<{ basis: unknown; input: unknown; output: unknown; micro: number }> {
  const [row] = await gateway.usage('rich', ++rows)
  return {
    basis: row?.['basis'],
    input: row?.['input'],
    output: row?.['output'],
    micro: Math.round(Number(row?.['charge']) * 1e6),
  }
}

const speak = (model: string, input: string, more: object = {}) =>
  openai.audio.speech.create({ model, voice: 'alloy', input, ...more })

t.test('speech by the character: code points, whatever their bytes', async t => {
  const input = `Grüße, 你好 👋🏽 \\ " [[sim tokens=50]]`
  const answer = await speak('voice-by-character', input)
  t.equal(answer.headers.get('content-type'), 'audio/mpeg')
  t.equal((await answer.arrayBuffer()).byteLength, 50 * 384)
  t.same(await charged(), { basis: 'reported', input: 0, output: 0, micro: Math.ceil([...input].length * 108) })
})

t.test('speech by the second: of the sound that came back, in any container', async t => {
  // a token lasts 48 ms
  const cases: [tokens: number, format: 'mp3' | 'wav' | 'pcm', seconds: number][] = [
    [24, 'mp3', 2],
    [125, 'mp3', 6],
    [125, 'wav', 6],
    [125, 'pcm', 6],
    [126, 'pcm', 7],
  ]
  for (const [tokens, response_format, seconds] of cases) {
    const answer = await speak('voice-by-second', `x [[sim tokens=${tokens}]]`, { response_format })
    await answer.arrayBuffer()
    t.match(await charged(), { basis: 'counted', micro: seconds * 2000 }, `${tokens} ${response_format}`)
  }
})

t.test('speech as events: characters, seconds, and tokens where they are reported', async t => {
  const input = '[[sim tokens=125 input=10]]'
  const text = await (await speak('voice-by-character', input, { stream_format: 'sse' })).text()
  t.match(text, /"type":"speech.audio.delta","audio":"[\w+/=]+"/)
  t.match(text, /"usage":\{"input_tokens":10,"output_tokens":125,"total_tokens":135\}\}\n\n$/)
  t.same(await charged(), { basis: 'reported', input: 10, output: 125, micro: input.length * 108 })
  await (await speak('voice-by-second', input, { stream_format: 'sse' })).text()
  t.match(await charged(), { basis: 'counted', micro: 6 * 2000 })
  await (await speak('voice-by-token', input, { stream_format: 'sse' })).text()
  t.same(await charged(), { basis: 'reported', input: 10, output: 125, micro: 42 + 125 * 84 })
  await (await speak('voice-by-token', input)).arrayBuffer()
  t.same(await charged(), { basis: 'reported', input: 0, output: 0, micro: 0 }, 'no usage is reported, so no tokens')
  await (await speak('voice-by-request', input)).arrayBuffer()
  t.match(await charged(), { basis: 'reported', micro: 10_000 })
})

t.test('an answer that breaks off costs all its characters, and the seconds that came', async t => {
  const cut = '[[sim tokens=1000 stream cut=1]]'.replace('stream ', '')
  await t.rejects(speak('voice-by-character', cut).then(answer => answer.arrayBuffer()))
  t.match(await charged(), { micro: cut.length * 108 })
  await t.rejects(speak('voice-by-second', cut).then(answer => answer.arrayBuffer()))
  t.match(await charged(), { basis: 'counted', micro: 24 * 2000 }) // half of 48 s
})

t.test('refusals, in order', async t => {
  const input = 'x'
  const cases: [body: object, key: string, status: number, message: RegExp][] = [
    [{ model: 'voice-by-second', input: 5 }, KEY, 400, /^请求体字段无效:input/],
    [{ model: 'voice-by-second', input, Input: 'y' }, KEY, 400, /^请求体字段无效:input/],
    [{ model: 'nope', input }, KEY, 400, /无可用渠道/],
    [{ model: 'voice-tokens-only', input }, KEY, 400, /的价格尚未由管理员配置/],
    [{ model: 'voice-by-second', input }, POOR_KEY, 403, /^用户额度不足/],
    [{ model: 'voice-by-character', input: 'x'.repeat(900_000) }, POOR_KEY, 403, /^用户额度不足/],
  ]
  for (const [body, key, status, message] of cases) {
    const answer = await post('/v1/audio/speech', body, key)
    const { error } = (await answer.json()) as { error: { message: string } }
    t.equal(answer.status, status)
    t.match(error.message, message)
  }
})
