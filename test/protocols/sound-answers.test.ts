/** What the meters of speech and transcriptions say of answers, cut into chunks at random, and what the facts say of requests. */
import t from 'tap'
import type { Facts } from '../../lib/protocols/requests/facts.ts'
import type { Meter, MeterOptions } from '../../lib/protocols/answers/meter.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import type { Usage } from '../../lib/protocols/words/usage.ts'
import { cut, seeded } from '../support/random.ts'
import { MP3_FRAME_S, mp3, wav } from '../support/sound.ts'

type Said = Partial<Usage> & { seconds: number; reported: boolean; used: boolean; final?: boolean; failed?: boolean }

const OPTIONS: MeterOptions = { events: false, lengthStop: false, cacheTtl: '5m' }
const sound = (characters: number, uploadS: number, soundBytesPerS: number | null = null) => ({
  characters,
  uploadS,
  soundBytesPerS,
})
const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const events = (...values: unknown[]) => Buffer.from(values.map(value => `data: ${JSON.stringify(value)}\n\n`).join(''))

function said({ usage, seconds, secondsReported, failed }: Meter, wanted: Said): Said {
  const found: Said = { seconds, reported: secondsReported, used: usage !== null }
  if (wanted.failed !== undefined) found.failed = failed
  for (const name in usage ?? {})
    if ((usage as Usage)[name as keyof Usage] > 0 && name !== 'seconds')
      (found as unknown as Record<string, number>)[name] = (usage as Usage)[name as keyof Usage]
  return found
}

const delta = (bytes: Buffer) => ({ type: 'speech.audio.delta', audio: bytes.toString('base64') })
const SONG = mp3(100)
const SONG_S = Math.ceil(100 * MP3_FRAME_S)

t.test('speech', async t => {
  const random = seeded(t)
  const usage = { input_tokens: 7, output_tokens: 90, total_tokens: 97 }
  const plain = { ...OPTIONS, sound: sound(12, 0) }
  const stream = { ...plain, events: true }
  const rows: [name: string, options: MeterOptions, answer: Buffer, said: Said][] = [
    ['bytes', plain, SONG, { characters: 12, seconds: SONG_S, reported: false, used: true }],
    [
      'samples',
      { ...OPTIONS, sound: sound(12, 0, 48_000) },
      Buffer.alloc(96_001),
      { characters: 12, seconds: 3, reported: false, used: true },
    ],
    ['an error', plain, json({ error: { message: 'no' } }), { seconds: 0, reported: false, used: false, failed: true }],
    [
      'events',
      stream,
      events(delta(SONG.subarray(0, 999)), delta(SONG.subarray(999)), { type: 'speech.audio.done', usage }),
      { characters: 12, input: 7, output_audio: 90, seconds: SONG_S, reported: false, used: true },
    ],
    [
      'events that break off',
      stream,
      events(delta(SONG)),
      { characters: 12, seconds: SONG_S, reported: false, used: true },
    ],
    [
      'events without sound',
      stream,
      events({ type: 'error', error: {} }),
      { seconds: 0, reported: false, used: false, failed: true },
    ],
  ]
  for (const [name, options, answer, wanted] of rows)
    for (let i = 0; i < 5; i++) {
      const meter = protocolRow('speech').meter(options)
      for (const chunk of cut(random, answer)) meter.feed(chunk, chunk.toString('latin1'))
      meter.end(true)
      t.same(said(meter, wanted), wanted, name)
    }
})

t.test('an answer that is no JSON is whole with the bytes that were announced, or at its end', async t => {
  for (const protocol of ['speech', 'transcriptions'] as const) {
    const meter = protocolRow(protocol).meter({ ...OPTIONS, type: 'text/plain', bodyBytes: 10, sound: sound(1, 1) })
    meter.feed(Buffer.alloc(9, 'x'), 'x'.repeat(9))
    t.notOk(meter.terminal || meter.concluded)
    meter.feed(Buffer.of(0x78), 'x')
    t.ok(meter.terminal && meter.concluded)
    const open = protocolRow(protocol).meter({ ...OPTIONS, type: 'text/plain', sound: sound(1, 1) })
    open.feed(Buffer.alloc(9, 'x'), 'x'.repeat(9))
    open.end(false)
    t.notOk(open.terminal, 'the connection broke')
    open.end(true)
    t.ok(open.terminal)
  }
})

t.test('transcriptions', async t => {
  const random = seeded(t)
  const text = 'a b c'
  const tokens = {
    type: 'tokens',
    input_tokens: 20,
    input_token_details: { audio_tokens: 18, text_tokens: 2 },
    output_tokens: 5,
  }
  const options = { ...OPTIONS, sound: sound(0, 9), type: 'application/json' }
  const plain = { ...options, type: 'text/plain; charset=utf-8' }
  const stream = { ...options, events: true }
  const done = (usage: unknown) =>
    events({ type: 'transcript.text.delta', delta: text }, { type: 'transcript.text.done', text, usage })
  const none = { seconds: 9, reported: false, used: false }
  const counts = { input: 2, input_audio: 18, output: 5, seconds: 9, reported: false, used: true }
  const rows: [name: string, options: MeterOptions, answer: Buffer, said: Said][] = [
    ['nothing reported', options, json({ text }), none],
    [
      'seconds',
      options,
      json({ text, usage: { type: 'duration', seconds: 3.2 } }),
      { ...none, seconds: 4, reported: true },
    ],
    ['a duration as text', options, json({ text, duration: '8.01' }), { ...none, seconds: 9, reported: true }],
    ['seconds that are none', options, json({ text, usage: { seconds: -1 }, duration: 'long' }), none],
    ['no seconds', options, json({ text, usage: { type: 'duration', seconds: 0 } }), none],
    ['tokens', options, json({ text, usage: tokens }), counts],
    [
      'details above the total',
      options,
      json({ text, usage: { ...tokens, input_tokens: 10 } }),
      { ...counts, input_audio: 8 },
    ],
    [
      'tokens without details',
      options,
      json({ text, usage: { input_tokens: 20, output_tokens: 5 } }),
      { input: 20, output: 5, seconds: 9, reported: false, used: true },
    ],
    [
      'tokens and seconds',
      options,
      json({ text, usage: { prompt_tokens: 4, completion_tokens: 5, prompt_audio_seconds: 7 } }),
      { input: 4, output: 5, seconds: 7, reported: true, used: true },
    ],
    [
      'a stamp behind the end of the file',
      options,
      json({ text, segments: [{ start: 0, end: 30.5, text }] }),
      { ...none, seconds: 31 },
    ],
    ['text', plain, Buffer.from(text), none],
    ['subtitles', plain, Buffer.from(`1\n00:00:00,000 --> 00:01:00,001\n${text}`), { ...none, seconds: 61 }],
    ['events with tokens', stream, done(tokens), counts],
    ['events with seconds', stream, done({ type: 'duration', seconds: 2 }), { ...none, seconds: 2, reported: true }],
    ['events without a report', stream, done(undefined), none],
    [
      'segments as events',
      stream,
      events({ type: 'transcript.text.segment', start: 1, end: 12, text, speaker: 'A' }),
      { ...none, seconds: 12 },
    ],
    ['an error', options, json({ error: { message: 'no' } }), { ...none, failed: true }],
  ]
  for (const [name, of, answer, wanted] of rows)
    for (let i = 0; i < 5; i++) {
      const meter = protocolRow('transcriptions').meter(of)
      for (const chunk of cut(random, answer, 60)) meter.feed(chunk, chunk.toString('latin1'))
      meter.end(true)
      t.same(said(meter, wanted), wanted, name)
    }
})

const factsOf = (protocol: 'speech' | 'transcriptions', type: string, body: Buffer): Facts | null => {
  const scan = protocolRow(protocol).body.scan(type)
  scan.feed(body)
  return scan.end()
}

t.test('what a request says of sound', async t => {
  const speech = (body: object) => factsOf('speech', 'application/json', json({ model: 'm', ...body }))
  t.match(speech({ input: 'aé你👋\ud800' }), { characters: 5, stream: false, soundBytesPerS: null, invalid: null })
  t.match(speech({ input: '', response_format: 'pcm', stream_format: 'sse' }), {
    characters: 0,
    stream: true,
    soundBytesPerS: 48_000,
  })
  t.match(speech({ input: 'x'.repeat(1_000_000) }), { characters: 1_000_000, invalid: null })
  for (const input of [5, null, ['a'], {}, 'x'.repeat(1_048_577)]) t.match(speech({ input }), { invalid: 'input' })
  const part = (name: string, more: string, content: Buffer | string) =>
    Buffer.concat([
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ])
  const form = (...parts: Buffer[]) =>
    factsOf('transcriptions', 'multipart/form-data; boundary=b', Buffer.concat([...parts, Buffer.from('--b--\r\n')]))
  const file = part('file', '; filename="a.mp3"', wav(2.5))
  t.match(form(part('model', '', 'm'), file), {
    model: 'm',
    uploadS: 3,
    prompt: { sounds: 1, soundS: 3 },
    invalid: null,
  })
  t.match(
    form(file, part('file', '; filename="b"', wav(2.5))),
    { uploadS: 5 },
    'files are added up before they are rounded',
  )
  t.match(form(part('whatever', '; filename="b"', wav(2.5))), { uploadS: 3 }, 'whatever the field is called')
  t.match(form(file, part('stream', '', 'true')), { stream: true })
  for (const name of ['url', 'file_url', 'audio_url', 'file_id', 'File'])
    t.match(form(part(name, '', 'x')), { invalid: name === 'File' ? 'file' : name })
})
