/**
 * Speech and transcriptions through a whole gateway: the official SDK, what it gets, and what is charged, to the micro-unit.
 */
import { toFile } from 'openai'
import t from 'tap'
import { KEY, POOR_KEY } from '../support/gateway.ts'
import { startWithModels } from '../support/models.ts'

const PROTOCOLS = ['speech', 'transcriptions']
const MODELS = [
  { name: 'voice-by-character', price: { character: 108 } },
  { name: 'voice-by-second', price: { second: 0.002 } },
  { name: 'voice-by-request', price: { request: 0.01 } },
  { name: 'voice-by-token', price: { request: 0, input: 4.2, output: 84 } },
  { name: 'voice-tokens-only', price: { input: 4.2, output: 84 } },
  { name: 'ear-by-second', price: { second: 0.0007 } },
  { name: 'ear-that-is-dear', price: { second: 1 } },
  { name: 'ear-by-request', price: { request: 0.01 } },
  { name: 'ear-by-token', price: { input: 9, output: 36, input_audio: 18 }, input_factor: 1 },
]
const { gateway, openai, post, row, charged } = await startWithModels(PROTOCOLS, MODELS)
t.teardown(() => gateway.stop())

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

/** A WAV of 16 kHz with 16 bits: 32,000 bytes in a second. */
function wav(seconds: number): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF____WAVEfmt ', 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(16_000, 24)
  head.writeUInt32LE(32_000, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(seconds * 32_000, 40)
  return Buffer.concat([head, Buffer.alloc(seconds * 32_000, 7)])
}

const sim = (words: string) => `[[sim ${words}]]`

/** The simulator takes a second to have 16,000 bytes, and so reports twice the length of a WAV, and one more for its head. */
const REPORTED_S = 2 * 5 + 1

t.test('transcriptions: the seconds that are reported', async t => {
  const file = await toFile(wav(5), 'speech.wav')
  const one = await openai.audio.transcriptions.create({ model: 'ear-by-second', file })
  t.match(one.text, /^The quick brown fox/)
  t.match(await charged(), { basis: 'reported', micro: REPORTED_S * 700 })
  const prompt = sim('usage=none')
  const verbose = await openai.audio.transcriptions.create({
    model: 'ear-by-second',
    file,
    response_format: 'verbose_json',
    prompt,
  })
  t.equal(verbose.duration, REPORTED_S)
  t.match(await charged(), { basis: 'reported', micro: REPORTED_S * 700 }, 'the duration is a report too')
})

t.test('transcriptions without a report: the seconds of the file, and never less than the last time stamp', async t => {
  const file = await toFile(wav(5), 'speech.txt')
  const prompt = sim('usage=none')
  const ask = (response_format: 'json' | 'text' | 'srt' | 'vtt', from = file) =>
    openai.audio.transcriptions.create({ model: 'ear-by-second', file: from, response_format, prompt })
  await ask('json')
  t.match(await charged(), { basis: 'counted', micro: 5 * 700 })
  t.match(await ask('text'), /^The quick brown fox/)
  t.match(await charged(), { basis: 'counted', micro: 5 * 700 })
  t.match(await ask('srt'), /00:00:00,000 --> 00:00:11,000/)
  t.match(await charged(), { basis: 'counted', micro: REPORTED_S * 700 })
  await ask('vtt')
  t.match(await charged(), { basis: 'counted', micro: REPORTED_S * 700 })
  await ask('json', await toFile(Buffer.alloc(7501, 'x'), 'no-container.mp3'))
  t.match(await charged(), { basis: 'counted', micro: 11 * 700 }, '750 bytes are a second')
})

t.test('transcriptions as events, and by the token', async t => {
  const file = await toFile(wav(5), 'speech.wav')
  const ask = (prompt: string) => openai.audio.transcriptions.create({ model: 'ear-by-token', file, prompt })
  const prompt = sim('input=110 tokens=40')
  const stream = await openai.audio.transcriptions.create({ model: 'ear-by-token', file, stream: true, prompt })
  let text = ''
  for await (const event of stream) if (event.type === 'transcript.text.delta') text += event.delta
  t.match(text, /^The quick brown fox/)
  t.match(await charged(), { basis: 'reported', output: 40, micro: 10 * 9 + 100 * 18 + 40 * 36 })
  await ask(prompt)
  t.match(await charged(), { basis: 'reported', output: 40, micro: 10 * 9 + 100 * 18 + 40 * 36 })
  await ask(sim('usage=none'))
  const { basis, input, output } = await charged()
  t.equal(basis, 'counted')
  t.ok(Number(input) > 5 * 32, 'each second is 32 tokens, and the fields are text')
  t.ok(Number(output) > 0)
  const seconds = await openai.audio.transcriptions.create({ model: 'ear-by-second', file, stream: true })
  for await (const _ of seconds);
  t.match(await charged(), { basis: 'reported', micro: REPORTED_S * 700 })
})

t.test('translations go to their own path, under the name that the upstream knows', async t => {
  const file = await toFile(wav(5), 'speech.wav')
  const answer = await openai.audio.translations.create({ model: 'ear-by-request', file, prompt: sim('id=translated') })
  t.match(answer.text, /^The quick brown fox/)
  t.match(await charged(), { basis: 'reported', micro: 10_000 })
  const [asked] = gateway.simulator.stats.served.filter(({ id }) => id === 'translated')
  t.match(asked, { protocol: 'transcriptions', model: 'up-ear-by-request' })
})

t.test(
  'what is set aside: a second for each character of speech, the seconds of the files, and all that the model can write',
  async t => {
    const need = async (path: string, body: string | FormData) => {
      const headers = { authorization: `Bearer ${KEY}` }
      const answer = await fetch(`${gateway.main}/v1/audio/${path}`, { method: 'POST', headers, body })
      t.equal(answer.status, 403)
      return ((await answer.json()) as { error: { message: string } }).error.message
    }
    const input = 'x'.repeat(600_000)
    t.match(await need('speech', JSON.stringify({ model: 'voice-by-second', input })), /1200\.00/)
    const body = new FormData()
    body.append('model', 'ear-that-is-dear')
    body.append('file', new Blob(['x'.repeat(900_000)]), 'an-hour')
    t.match(await need('transcriptions', body), /1200\.00/)
    const answer = await openai.audio.transcriptions.create({
      model: 'ear-by-token',
      file: await toFile(wav(5), 'a.wav'),
    })
    t.ok(answer.text)
    const held = Math.round(Number((await row())?.['held']) * 1e6)
    t.ok(held > 128_000 * 36 + 5 * 32 * 18 && held < 128_000 * 36 + 1000 * 18, `${held}`)
  },
)

t.test('transcriptions that are refused', async t => {
  const send = async (fields: Record<string, string | Blob>, key = KEY, type?: string) => {
    const body = new FormData()
    for (const [name, value] of Object.entries(fields)) body.append(name, value)
    const headers = { authorization: `Bearer ${key}`, ...(type === undefined ? {} : { 'content-type': type }) }
    const answer = await fetch(`${gateway.main}/v1/audio/transcriptions`, { method: 'POST', headers, body })
    return `${answer.status} ${((await answer.json()) as { error: { message: string } }).error.message}`
  }
  const model = 'ear-by-second'
  const file = new Blob([new Uint8Array(wav(1))])
  t.match(await send({ model, url: 'https://example.com/an-hour.mp3' }), /^400 请求体字段无效:url/)
  t.match(await send({ model, file: 'no file' }), /^400 请求体字段无效:file/)
  t.match(await send({ model, file, file_id: 'file-1' }), /^400 请求体字段无效:file_id/)
  t.match(await send({ file }), /^400 未指定模型名称/)
  t.match(await send({ model: 'voice-by-character', file }), /^400 .*的价格尚未由管理员配置/)
  t.match(await send({ model, file }, POOR_KEY), /^403 用户额度不足/)
  t.match(await send({ model, file }, KEY, 'application/json'), /^400 /)
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
