import t from 'tap'
import { fromPrompt, listedDetails, type Modal } from '../../lib/protocols/words/reports.ts'
import { noUsage, outputOf, type Usage, withOutput } from '../../lib/protocols/words/usage.ts'
import { type Random, seeded } from '../support/random.ts'

const modal = (text: number, image: number, audio: number): Modal => ({ text, image, audio })

t.test('what belongs to which modality', async t => {
  const rows: [string, Parameters<typeof fromPrompt>[0], Partial<Usage>][] = [
    ['no details: all is text', { prompt: 10, output: 4, cached: 3 }, { input: 7, cache_read: 3, output: 4 }],
    [
      'details name cached tokens',
      { prompt: 100, output: 0, cached: 30, details: { prompt: modal(50, 20, 30), cached: modal(5, 5, 20) } },
      { input: 45, input_image: 15, input_audio: 10, cache_read: 5, cache_read_image: 5, cache_read_audio: 20 },
    ],
    [
      'what no detail names is taken from text first, then pictures, then sound',
      { prompt: 100, output: 0, cached: 80, details: { prompt: modal(50, 20, 30) } },
      { input_audio: 20, cache_read: 50, cache_read_image: 20, cache_read_audio: 10 },
    ],
    [
      'cached details that name more of a modality than the prompt has',
      { prompt: 100, output: 0, cached: 40, details: { prompt: modal(90, 0, 10), cached: modal(0, 0, 40) } },
      { input: 60, cache_read: 30, cache_read_audio: 10 },
    ],
    [
      'what details have above the total is taken off sound first, then pictures, then text',
      { prompt: 100, output: 50, details: { prompt: modal(60, 50, 40), output: modal(60, 10, 10) } },
      { input: 60, input_image: 40, output: 50 },
    ],
    [
      'cached details above their total',
      { prompt: 100, output: 0, cached: 10, details: { prompt: modal(40, 30, 30), cached: modal(5, 8, 9) } },
      { input: 35, input_image: 25, input_audio: 30, cache_read: 5, cache_read_image: 5 },
    ],
    [
      'writes come off text first, and off what was not read from the cache',
      { prompt: 100, output: 0, cached: 30, written: 40, written1h: 10, details: { prompt: modal(50, 50, 0) } },
      { input_image: 30, cache_read: 30, cache_write_5m: 30, cache_write_1h: 10 },
    ],
    ['more cached than there is', { prompt: 10, output: 0, cached: 99, written: 5 }, { cache_read: 10 }],
    [
      'details without text: the rest is text',
      { prompt: 100, output: 90, details: { prompt: modal(0, 0, 25), output: modal(0, 80, 0) } },
      { input: 75, input_audio: 25, output: 10, output_image: 80 },
    ],
  ]
  for (const [what, counts, want] of rows) t.same(fromPrompt(counts), { ...noUsage(), ...want }, what)
})

const randomModal = (r: Random, most: number): Modal => modal(r.int(0, most), r.int(0, most), r.int(0, most))

t.test('whatever the details say, the sums stay', async t => {
  const random = seeded(t)
  for (let i = 0; i < 20_000; i++) {
    const most = random.pick([1, 5, 100, 1e9])
    const [prompt, output, cached, written, written1h] = [0, 0, 0, 0, 0].map(() => random.int(0, most)) as [
      number,
      number,
      number,
      number,
      number,
    ]
    const counts = { prompt, output, cached, written, written1h }
    const plain = fromPrompt(counts)
    const details = {
      prompt: randomModal(random, most),
      cached: randomModal(random, most),
      output: randomModal(random, most),
    }
    const found = fromPrompt({ ...counts, details })
    const sums = (u: Usage) => [
      u.input + u.input_audio + u.input_image,
      u.cache_read + u.cache_read_audio + u.cache_read_image,
      u.cache_write_5m,
      u.cache_write_1h,
      outputOf(u),
    ]
    const wrong = JSON.stringify(sums(found)) !== JSON.stringify(sums(plain))
    if (wrong || Object.values(found).some(count => count < 0))
      return t.same(found, plain, JSON.stringify({ counts, details }))
  }
  t.pass('20,000 reports')
})

t.test('another amount of output', async t => {
  const usage = { ...noUsage(), input: 3, output: 10, output_image: 20, output_audio: 5 }
  const rows: [number, Partial<Usage>][] = [
    [40, { output: 15, output_image: 20, output_audio: 5 }],
    [35, { output: 10, output_image: 20, output_audio: 5 }],
    [32, { output: 10, output_image: 20, output_audio: 2 }],
    [25, { output: 10, output_image: 15 }],
    [4, { output: 4 }],
    [0, {}],
  ]
  for (const [output, want] of rows) t.same(withOutput(usage, output), { ...noUsage(), input: 3, ...want }, `${output}`)
})

t.test('lists of modalities', async t => {
  const list = [
    { modality: 'TEXT', tokenCount: 1 },
    { modality: 'IMAGE', tokenCount: 2 },
    { modality: 'VIDEO', tokenCount: 4 },
    { modality: 'AUDIO', tokenCount: 8 },
    { modality: 'DOCUMENT', tokenCount: 16 },
    { modality: 'toString', tokenCount: 32 },
    { modality: 'AUDIO' },
    { modality: 'AUDIO', tokenCount: -1 },
    null,
  ]
  t.same(listedDetails(list), modal(49, 6, 8))
  for (const nothing of [undefined, null, {}, 'x', []]) t.same(listedDetails(nothing), modal(0, 0, 0))
})
