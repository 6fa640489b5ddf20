/** /v1/completions and /v1/responses/compact with the official SDK: what is held and charged for several prompts and answers, and what is refused. */
import OpenAI from 'openai'
import t from 'tap'
import { KEY, MODEL, NOTHING_LEFT, open, type Scene } from './support/gateway.ts'

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
const choice = (text: string) => ({ index: 0, text, logprobs: null, finish_reason: 'stop' })
const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`

const client = (s: Scene) => new OpenAI({ baseURL: `${s.urls.main}/v1`, apiKey: KEY, maxRetries: 0 })

t.test('whole and streamed: the upstream is asked at its path of completions, and its usage is charged', async t => {
  const s = await open(t)
  const openai = client(s)
  s.at('a').script = call =>
    call.whole(200, { id: 'c1', object: 'text_completion', choices: [choice('and on')], usage })
  const whole = await openai.completions.create({ model: MODEL, prompt: 'Once upon a time', max_tokens: 50 })
  t.equal(whole.choices[0]!.text, 'and on')
  const asked = await s.at('a').call()
  t.match(asked.head, /^POST \/v1\/completions HTTP/)
  t.same(JSON.parse(asked.body), { model: MODEL, prompt: 'Once upon a time', max_tokens: 50 })

  s.at('a').script = call => {
    call.stream()
    call.chunk(data({ id: 'c2', object: 'text_completion', choices: [choice('and ')] }))
    call.chunk(data({ id: 'c2', object: 'text_completion', choices: [], usage }))
    call.chunk('data: [DONE]\n\n')
    call.end()
  }
  let text = ''
  for await (const part of await openai.completions.create({ model: MODEL, prompt: ['One', 'Two'], stream: true }))
    text += part.choices[0]?.text ?? 'no choice'
  t.equal(text, 'and ', 'the event with the usage, which the client did not ask for, is withheld')
  t.match(JSON.parse(s.at('a').calls.at(-1)!.body), { stream_options: { include_usage: true } })
  const rows = (await s.books()).rows
  t.match(rows, [
    { protocol: 'chat', input: 100, output: 10, charge: 100 * 2 + 10 * 8, basis: 'reported' },
    { protocol: 'chat', input: 100, output: 10, charge: 280 },
  ])
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

const said = (delta: object, finish_reason: string | null = null, more: object = {}) =>
  data({ id: 'f', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })

t.test(
  'Mistral fills in the middle at a path of its own: its answers in the form of chat become text_completion',
  async t => {
    const s = await open(t, { channels: { a: { protocols: ['chat'], kind: 'mistral', paths: {} } as never } })
    const openai = client(s)
    const message = { role: 'assistant', content: 'return a + b', tool_calls: null }
    const report = { ...usage, prompt_tokens_details: { cached_tokens: 0 } }
    s.at('a').script = call =>
      call.whole(200, {
        id: 'f',
        object: 'chat.completion',
        created: 7,
        model: 'u',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: report,
      })
    const ask = { model: MODEL, prompt: 'def add(a, b):', suffix: 'add(1, 2)', max_tokens: 50 }
    const whole = await openai.completions.create(ask).asResponse()
    t.same(await whole.json(), {
      id: 'f',
      object: 'text_completion',
      created: 7,
      model: 'u',
      choices: [{ index: 0, finish_reason: 'stop', text: 'return a + b', logprobs: null }],
      usage: report,
    })
    t.equal(whole.headers.get('x-gateway-charge'), '0.000280')
    t.notOk(whole.headers.get('content-length') === String(JSON.stringify(message).length))
    const asked = await s.at('a').call()
    t.match(asked.head, /^POST \/v1\/fim\/completions HTTP/)
    t.same(JSON.parse(asked.body), ask)

    const events = [
      said({ role: 'assistant', content: '' }),
      said({ content: 'return ' }),
      said({ content: [{ type: 'text', text: 'a' }] }),
      said({ content: '' }, 'stop', { usage: report }),
      'data: [DONE]\n\n',
    ].join('')
    for (const size of [1, 50, 10_000]) {
      s.at('a').script = call => {
        call.stream()
        for (let at = 0; at < events.length; at += size) call.chunk(events.slice(at, at + size))
        call.end()
      }
      const stream = await openai.completions
        .create(
          { ...ask, stream: true, stream_options: { include_usage: true } },
          { headers: { 'x-gateway-cost': 'stream' } },
        )
        .asResponse()
      const parts = (await stream.text()).split('\n\n').filter(part => part !== '')
      t.equal(parts.pop(), 'data: [DONE]')
      const values = parts.map(part => JSON.parse(part.slice('data: '.length)) as Record<string, unknown>)
      const texts = values.map(({ object, choices }) => [object, (choices as { text: string }[])[0]!.text])
      t.same(
        texts,
        ['', 'return ', 'a', ''].map(text => ['text_completion', text]),
        `pieces of ${size}`,
      )
      t.match(values.at(-1), { usage: { completion_tokens: 10, cost: 0.00028, cost_currency: 'CNY' } })
      t.notMatch(s.at('a').calls.at(-1)!.body, /stream_options/, 'which Mistral refuses')
    }
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
    t.equal(s.services.buffered.bytes, 0)
  },
)

t.test('an answer of Mistral that is no JSON, an error, or too large passes as it came', async t => {
  const s = await open(t, { channels: { a: { protocols: ['chat'], kind: 'mistral', paths: {} } as never } })
  const asked = async () => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: MODEL, prompt: 'x', max_tokens: 50 })
    return (await fetch(`${s.urls.main}/v1/completions`, { method: 'POST', headers, body })).text()
  }
  const large = JSON.stringify({ choices: [{ message: { content: 'x'.repeat(1_100_000) } }], usage })
  for (const [status, text] of [
    [200, large],
    [422, '{"detail":[{"loc":["body","prompt"]}]}'],
    [200, 'no JSON'],
  ] as const) {
    s.at('a').script = call => call.whole(status, text)
    const came = await asked()
    t.ok(came === text, `${came.length} of ${text.length} bytes: ${came.slice(0, 80)}`)
  }
  t.equal(s.services.buffered.bytes, 0)
})

t.test('the hold is prompts × answers × maximum', async t => {
  const rows: [what: string, body: object, answers: number][] = [
    ['a text', { prompt: 'x' }, 1],
    ['three texts', { prompt: ['x', 'y', 'z'] }, 3],
    ['a list of tokens is one prompt', { prompt: [1, 2, 3] }, 1],
    ['two lists of tokens', { prompt: [[1, 2], [3]] }, 2],
    ['an object is one prompt', { prompt: { prompt_string: 'x', multimodal_data: [] } }, 1],
    ['objects, as llama.cpp reads them', { prompt: [{ prompt_string: 'x' }, 'y', { prompt_string: 'z' }] }, 3],
    ['n answers to each of two', { prompt: ['x', 'y'], n: 4, best_of: 4 }, 8],
  ]
  for (const [what, body, answers] of rows) {
    const s = await open(t)
    const asked = fetch(`${s.urls.main}/v1/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, max_tokens: 1000, ...body }),
    })
    const call = await s.at('a').call()
    const output = answers * 1000 * 8
    const held = s.services.ledger.heldTotal
    t.ok(held >= output && held < output + 1000 * 8, `${what}: ${held} for ${output}`)
    call.whole(200, { choices: [choice('x')], usage })
    await (await asked).text()
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  }
})

t.test('an answer without usage is charged by its text, of all its choices', async t => {
  const s = await open(t)
  s.at('a').script = call => call.whole(200, { choices: [choice('word '.repeat(400)), choice('word '.repeat(400))] })
  await client(s).completions.create({ model: MODEL, prompt: 'x', n: 2, max_tokens: 2000 })
  const [row] = (await s.books()).rows
  t.ok(row!.output >= 500, `${row!.output} tokens of 800 words`)
  t.not(row!.basis, 'reported')
})

t.test(
  'what is refused: echo, best_of above n, upstreams that only translate or whose kind has no such path',
  async t => {
    const refusals: [what: string, body: object, channel: object, param: RegExp][] = [
      ['echo', { echo: true }, {}, /echo/],
      ['best_of', { best_of: 2 }, {}, /best_of/],
      ['best_of as text', { n: 2, best_of: ' 3' }, {}, /best_of/],
      ['best_of as no number', { n: 2, best_of: [9] }, {}, /best_of/],
      ['prompts that cannot be read', { prompt_embeds: ['aGk='] }, {}, /prompt_embeds/],
      ['translated', {}, { protocols: ['messages'], translate: true }, /不支持参数 prompt/],
      ['a kind without it', {}, { protocols: ['chat'], kind: 'moonshot' }, /不支持参数 prompt/],
    ]
    for (const [what, body, channel, says] of refusals) {
      const s = await open(t, { channels: { a: channel as never } })
      s.at('a').script = () => t.fail('the upstream was asked')
      const refused = await client(s)
        .completions.create({ model: MODEL, prompt: 'x', ...body })
        .then(
          () => null,
          (error: unknown) => error,
        )
      t.type(refused, OpenAI.BadRequestError, what)
      t.match((refused as Error).message, says, what)
    }
  },
)

t.test('/v1/responses/compact: charged by its usage, and only natively', async t => {
  const s = await open(t)
  const report = { input_tokens: 500, output_tokens: 20, total_tokens: 520 }
  s.at('a').script = call => call.whole(200, { id: 'r1', object: 'response.compaction', output: [], usage: report })
  await client(s).responses.compact({ model: MODEL, input: 'a long conversation' })
  t.match((await s.at('a').call()).head, /^POST \/v1\/responses\/compact HTTP/)
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, rows: [{ input: 500, output: 20, charge: 500 * 2 + 20 * 8 }] })

  const translated = await open(t, { channels: { a: { protocols: ['messages'], translate: true } as never } })
  translated.at('a').script = () => t.fail('the upstream was asked')
  const refused = await client(translated)
    .responses.compact({ model: MODEL, input: 'x' })
    .catch((error: unknown) => error)
  t.match((refused as Error).message, /不支持参数 input/)
})

t.test(
  '/v1/responses/compact names no maximum: held as any answer without one, and charged up to max_output',
  async t => {
    // micro-CNY: default_output is held where the worst case, of which a fifth must be there, is not
    for (const [credit, least] of [
      [100_000_000, 1000 * 8],
      [5_000, 300 * 8],
    ] as const) {
      const s = await open(t, { credit, model: { default_output: 300, max_output: 1000 } })
      const asked = client(s).responses.compact({ model: MODEL, input: 'a long conversation' })
      const call = await s.at('a').call()
      const held = s.services.ledger.heldTotal
      t.ok(held >= least && held < least + 200, `${held}`)
      const usage = { input_tokens: 5, output_tokens: 500_000 }
      call.whole(200, { id: 'r1', object: 'response.compaction', output: [], usage })
      await asked
      const books = await s.books()
      t.match(books, { left: NOTHING_LEFT, failures: [] })
      t.ok(books.rows[0]!.charge <= 1000 * 8 + 200, `${books.rows[0]!.charge}`)
    }
  },
)

t.test('?beta=true on paths of responses goes upstream as it came', async t => {
  const s = await open(t)
  const report = { input_tokens: 9, output_tokens: 2, total_tokens: 11 }
  for (const [path, answer] of [
    ['/v1/responses?beta=true', { id: 'r', status: 'completed', output: [], usage: report }],
    ['/v1/responses/compact?beta=true', { id: 'r', output: [], usage: report }],
    ['/v1/responses/input_tokens?beta=true', { object: 'response.input_tokens', input_tokens: 9 }],
  ] as const) {
    s.at('a').script = call => call.whole(200, answer)
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: MODEL, input: 'x' })
    const answered = await fetch(`${s.urls.main}${path}&key=x`, { method: 'POST', headers, body })
    t.same(await answered.json(), answer, path)
    t.equal(s.at('a').calls.at(-1)!.head.split(' ')[1], path)
  }
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('compaction_trigger in an input: natively as it came, and never by translation', async t => {
  const input = [{ role: 'user', content: 'a long conversation' }, { type: 'compaction_trigger' }] as never
  const s = await open(t, {
    channels: { a: { protocols: ['messages'], translate: true }, b: { protocols: ['responses'], priority: -9 } },
  })
  s.at('a').script = () => t.fail('the channel that translates was asked')
  s.at('b').script = call =>
    call.whole(200, {
      id: 'r1',
      object: 'response',
      status: 'completed',
      output: [],
      usage: { input_tokens: 9, output_tokens: 2 },
    })
  await client(s).responses.create({ model: MODEL, input })
  t.same(JSON.parse((await s.at('b').call()).body), { model: MODEL, input })

  await s.changeChannel('b', { status: 'disabled' })
  const refused = (await client(s)
    .responses.create({ model: MODEL, input })
    .catch((error: unknown) => error)) as InstanceType<typeof OpenAI.BadRequestError>
  t.type(refused, OpenAI.BadRequestError)
  t.match(refused, { status: 400, param: 'input' })
  t.match(refused.message, /不支持参数 input\.compaction_trigger/)
  t.equal(refused.headers.get('x-should-retry'), 'false')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})
