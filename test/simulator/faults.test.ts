import { once } from 'node:events'
import http from 'node:http'
import t from 'tap'
import { TestClock } from '../support/clock.ts'
import { ASK, ask, call, eventsOf, SPEAKING, start } from './support.ts'

t.test('errors in the protocol’s form', async t => {
  const simulator = await start(t)
  const bodies: Record<string, object> = {
    messages: { type: 'error', error: { type: 'rate_limit_error' }, request_id: /^req_/ },
    chat: { error: { code: 'rate_limit_exceeded', param: null } },
    responses: { error: { code: 'rate_limit_exceeded' } },
    images: { error: { code: 'rate_limit_exceeded' } },
    generate: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } },
  }
  for (const protocol of [...SPEAKING, 'images'] as const) {
    for (const stream of [false, true]) {
      const got = await ask(simulator, protocol, '[[sim error=429 retry_after=3]]', { stream })
      t.match(got, { status: 429, headers: { 'retry-after': '3' }, json: bodies[protocol] as object }, protocol)
    }
  }
  t.equal((await ask(simulator, 'messages', '[[sim error=529]]')).json['error']?.['type' as never], 'overloaded_error')
})

t.test('streams that do not end well', async t => {
  const simulator = await start(t)
  const errors: Record<string, RegExp> = {
    messages: /event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error"/,
    chat: /data: \{"error":\{"message":/,
    responses: /event: error\ndata: \{"type":"error",/,
    generate: /data: \{"error":\{"code":503,/,
  }
  for (const protocol of SPEAKING) {
    const said = (prompt: string) => ask(simulator, protocol, prompt, { stream: true })
    const cut = await said('[[sim cut=2 chunk=1 id=cut]]')
    t.match(cut, { status: 200, cut: true }, protocol)
    t.equal(eventsOf(cut).length, 2, protocol)
    const early = await said('[[sim end_early=2 chunk=1 id=early]]')
    t.match(early, { status: 200, cut: false }, protocol)
    t.equal(eventsOf(early).length, 2, protocol)
    const failed = await said('[[sim event_error=2 chunk=1 id=failed]]')
    t.match(failed, { status: 200, cut: false, text: errors[protocol] as RegExp }, protocol)
    t.equal(eventsOf(failed).length, 3, protocol)
    t.match(await said('[[sim cut=0 id=none]]'), { status: 0, cut: true }, protocol)
  }
  t.match(simulator.stats, { requests: 16, open: 0, ends: { completed: 0, cut: 12, gone: 0, refused: 4 } })
  const messages = simulator.stats.served.filter(s => s.protocol === 'messages')
  t.match(messages, [
    { id: 'cut', status: 200, end: 'cut', usage: { output: 1 } },
    { id: 'early', end: 'cut' },
    { id: 'failed', end: 'cut' },
    { id: 'none', status: 0, end: 'refused', usage: null },
  ])
})

t.test('usage in the words of another provider, and more output than the maximum', async t => {
  const simulator = await start(t)
  const order = '[[sim tokens=9 input=20 cached=5 usage=foreign]]'
  const usage = { prompt_tokens: 25, completion_tokens: 9, total_tokens: 34, cached_tokens: 5 }
  t.strictSame((await ask(simulator, 'chat', order)).json['usage'], usage)
  const events = eventsOf(await ask(simulator, 'chat', order, { stream: true, extra: { n: 2 } }))
  const doubled = { ...usage, completion_tokens: 18, total_tokens: 43 }
  t.match(events.at(-1), { choices: [{ index: 0, finish_reason: 'stop', usage: doubled }] })
  t.equal(events.filter(event => JSON.stringify(event).includes('completion_tokens')).length, 1)
  const extra = { max_tokens: 3 }
  const wordy = await ask(simulator, 'chat', '[[sim tokens=50 wordy]]', { extra })
  t.match(wordy.json, { usage: { completion_tokens: 50 }, choices: [{ finish_reason: 'stop' }] })
})

t.test('whole answers that break off, or have no usage', async t => {
  const simulator = await start(t)
  for (const protocol of SPEAKING) {
    t.match(await ask(simulator, protocol, '[[sim cut=1]]'), { status: 200, cut: true }, protocol)
    for (const stream of [false, true]) {
      const got = await ask(simulator, protocol, '[[sim usage=none]]', { stream })
      t.notMatch(got.text, /"usage(Metadata)?":\{/, `${protocol} ${stream}`)
      t.match(simulator.stats.served.at(-1), { usage: null, delivered: 24, end: 'completed' })
    }
  }
})

t.test('faults for the first times only', async t => {
  const simulator = await start(t)
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await ask(simulator, 'chat', '[[sim error=503 times=2 id=a]]')).status)
  t.strictSame(statuses, [503, 503, 200, 200])
  t.equal((await ask(simulator, 'chat', '[[sim cut=0 times=1 id=b]]')).status, 0)
  t.equal((await ask(simulator, 'chat', '[[sim cut=0 times=1 id=b]]')).status, 200)
})

t.test('padded events', async t => {
  const simulator = await start(t)
  const got = await ask(simulator, 'chat', '[[sim tokens=3 bytes=100000]]', { stream: true })
  t.equal(eventsOf(got).filter(event => JSON.stringify(event).length > 100_000).length, 3)
  t.match(simulator.stats.served, [{ usage: { output: 3 }, delivered: 3 }])
})

t.test('chance is repeatable', async t => {
  const run = async (seed: number) => {
    const simulator = await start(t, { errorRate: 0.4, seed })
    const statuses = []
    for (let i = 0; i < 40; i++) statuses.push((await ask(simulator, 'chat', 'hi')).status)
    return statuses
  }
  const first = await run(7)
  t.strictSame(await run(7), first)
  t.notSame(await run(8), first)
  const failed = first.filter(status => status !== 200).length
  t.ok(failed > 5 && failed < 30, `${failed} of 40`)
})

/** The head of an answer, and what has come so far, for tests that move the clock. */
async function open(url: string, prompt: string) {
  const [path, body] = ASK.chat(prompt, true)
  const req = http.request(url + path, { method: 'POST', agent: false })
  req.on('error', () => {})
  req.end(JSON.stringify(body))
  return req
}
const turn = () => new Promise(resolve => setImmediate(resolve))
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn()
}

t.test('latency and pace, on the clock', async t => {
  const clock = new TestClock()
  const simulator = await start(t, { clock, latencyMs: 500, tokensPerSecond: 10 })
  const req = await open(simulator.url, '[[sim tokens=3]]')
  let res: http.IncomingMessage | null = null
  req.on('response', r => (res = r))
  await until(() => simulator.stats.open === 1)
  clock.advance(499)
  for (let i = 0; i < 20; i++) await turn()
  t.equal(res, null, 'nothing before the latency is over')
  clock.advance(1)
  await until(() => res !== null)
  let text = ''
  ;(res as never as http.IncomingMessage).setEncoding('utf8').on('data', part => (text += part))
  const deltas = () => text.split('"delta":{"content":"').length - 1
  for (const tokens of [0, 1, 2]) {
    await until(() => deltas() === tokens)
    clock.advance(99)
    for (let i = 0; i < 20; i++) await turn()
    t.equal(deltas(), tokens, 'no event before its time')
    clock.advance(1)
  }
  await until(() => text.endsWith('[DONE]\n\n'))
})

t.test('a stall ends when it is told to, or when the other side leaves', async t => {
  const clock = new TestClock()
  const simulator = await start(t, { clock })
  let text = ''
  const req = await open(simulator.url, '[[sim stall=2 stall_ms=1000]]')
  req.on('response', res => res.setEncoding('utf8').on('data', part => (text += part)))
  await until(() => text.split('\n\n').length === 3)
  clock.advance(1000)
  await until(() => text.endsWith('[DONE]\n\n'))
  await until(() => simulator.stats.open === 0)

  const other = await open(simulator.url, '[[sim stall=2 id=left]]')
  const [res] = (await once(other, 'response')) as [http.IncomingMessage]
  res.on('error', () => {})
  await once(res, 'data')
  other.destroy()
  await until(() => simulator.stats.open === 0)
  t.match(simulator.stats.served.at(-1), { id: 'left', end: 'gone', status: 200, usage: null })
})

t.test('a reader that does not read holds the stream back, and its leaving is seen', async t => {
  const simulator = await start(t)
  const req = await open(simulator.url, '[[sim tokens=2000 bytes=100000 id=slow]]')
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  res.on('error', () => {})
  res.pause()
  for (let i = 0; i < 50; i++) await turn()
  t.equal(simulator.stats.open, 1)
  req.destroy()
  await until(() => simulator.stats.open === 0)
  const last = simulator.stats.served.at(-1)
  t.match(last, { id: 'slow', end: 'gone', usage: null })
  t.ok((last?.delivered ?? 2000) < 2000, `${last?.delivered} of 2000 tokens went out`)
})

t.test('the books, in process and over HTTP', async t => {
  const simulator = await start(t, { records: 3 })
  for (let i = 0; i < 8; i++) await ask(simulator, 'chat', `[[sim id=r${i} tokens=${i + 1} input=10 cached=4]]`)
  t.match(simulator.stats, { requests: 8, usage: { input: 80, cache_read: 32, output: 36 }, ends: { completed: 8 } })
  t.strictSame(
    simulator.stats.served.map(s => s.id),
    ['r5', 'r6', 'r7'],
  )
  const read = async (query: string) => (await call(`${simulator.url}/sim/served${query}`, { method: 'GET' })).json
  t.match(await read(''), { requests: 8, open: 0, served: [{ number: 6 }, { number: 7 }, { number: 8 }] })
  t.match(await read('?id=r6'), { served: [{ id: 'r6', protocol: 'chat', usage: { input: 10, output: 7 } }] })
  t.match(await read('?after=7'), { served: [{ number: 8 }] })
  t.match(await read('?limit=1'), { served: [{ number: 6 }] })
  t.equal((await call(simulator.url, { method: 'GET' })).status, 200)
  t.equal((await call(`${simulator.url}/nope`, { method: 'GET' })).status, 404)
})

t.test('prepared answers are the regular ones, the same bytes each time', async t => {
  const simulator = await start(t, { errorRate: 1 })
  for (const protocol of SPEAKING) {
    for (const stream of [false, true]) {
      const once = await ask(simulator, protocol, '[[sim prepared tokens=7]]', { stream })
      const again = await ask(simulator, protocol, '[[sim prepared tokens=7]]', { stream })
      t.equal(again.text, once.text, protocol)
      t.equal(again.headers['content-type'], once.headers['content-type'])
      t.ok(once.text.includes('quick'), protocol)
    }
  }
  t.match(simulator.stats, { requests: 16, open: 0, usage: { output: 16 * 7 }, ends: { completed: 16 }, served: [] })
})
