/** Rate limit headers: ours say what is left on every answer, an upstream's never pass, and retry-after lets official SDKs finish. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { HEADERS, KEY, MODEL, open, OTHER_KEY, PATHS, POOR_KEY, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH } from './support/speech.ts'

const RATE = /^x-ratelimit-|^ratelimit|-ratelimit-/
const FOREIGN = {
  'x-ratelimit-limit-requests': '9999',
  'x-ratelimit-remaining-tokens': '77',
  'anthropic-ratelimit-unified-status': 'allowed',
  'anthropic-ratelimit-requests-remaining': '7',
  ratelimit: '"upstream";r=1;t=1',
  'ratelimit-policy': '"upstream";q=1;w=1',
}
const WIRE = { 'alpha-version': ['anthropic-version'], 'x-gamma-api-key': ['x-goog-api-key'] }

const rateHeaders = (headers: Headers) => Object.fromEntries([...headers].filter(([name]) => RATE.test(name)))

/** In steps, so that the gateway hears from its store in between. */
async function pass(s: Scene, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    s.clock.advance(1_000)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}

/** What each kind of path says, beside the headers of the draft, when `left` of 5 requests a minute are left. */
const own = (protocol: string, left: number): Record<string, string | RegExp> => ({
  'ratelimit-policy': '"requests";q=5;w=60',
  ratelimit: new RegExp(`^"requests";r=${left};t=(?:6[01]|5\\d)$`),
  ...(protocol === 'messages'
    ? {
        'anthropic-ratelimit-requests-limit': '5',
        'anthropic-ratelimit-requests-remaining': String(left),
        'anthropic-ratelimit-requests-reset': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
      }
    : protocol === 'generate'
      ? {}
      : {
          'x-ratelimit-limit-requests': '5',
          'x-ratelimit-remaining-requests': String(left),
          'x-ratelimit-reset-requests': /^(?:1m[01]s|5\ds)$/,
        }),
})

t.test('every protocol, whole and streamed: our own headers, and none of the upstream', async t => {
  for (const [protocol, speech] of Object.entries(SPEECH)) {
    const s = await open(t, { rate: 5, config: { wire: WIRE } })
    const { ask, first, rest } = speech
    s.at('a').script = call => {
      call.stream(FOREIGN)
      call.chunk(first)
      call.chunk(rest)
      call.end()
    }
    const url = s.urls.main + ask.path
    const post = (body: unknown) =>
      fetch(url, {
        method: 'POST',
        headers: { ...HEADERS, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const streamed = await post(ask.body)
    await streamed.text()
    t.match(rateHeaders(streamed.headers), own(protocol, 4), `${protocol}, streamed`)
    t.equal(Object.keys(rateHeaders(streamed.headers)).length, Object.keys(own(protocol, 4)).length)
    s.at('a').script = call => call.whole(200, { usage: {} }, FOREIGN)
    const whole = await post({ ...(ask.body as object), stream: false })
    await whole.text()
    t.match(rateHeaders(whole.headers), own(protocol, 3), `${protocol}, whole`)
    s.at('a').script = call => call.whole(400, { error: { message: 'no' } }, FOREIGN)
    const refused = await post(ask.body)
    await refused.text()
    t.match(rateHeaders(refused.headers), own(protocol, 2), `${protocol}, an error of the upstream`)
    t.equal(Object.keys(rateHeaders(refused.headers)).length, Object.keys(own(protocol, 2)).length)
  }
})

t.test('a refusal says when there is room again; other accounts and unlimited ones are told nothing of it', async t => {
  const s = await open(t, { rate: 2 })
  s.at('a').script = answers(1, 1)
  const ask = async (key: string, origin?: string) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(origin ? { origin } : {}),
    }
    const answer = await fetch(s.urls.main + PATHS.chat, {
      method: 'POST',
      headers,
      body: JSON.stringify(document().body),
    })
    await answer.text()
    return answer
  }
  t.match(rateHeaders((await ask(KEY)).headers), { ratelimit: /r=1;/ })
  t.match(rateHeaders((await ask(KEY)).headers), { ratelimit: /r=0;/ })
  t.match(rateHeaders((await ask(OTHER_KEY)).headers), { ratelimit: /r=1;/ }, 'another account has its own')
  t.match(rateHeaders((await ask(POOR_KEY)).headers), { ratelimit: /r=1;/ }, 'a refusal for money carries them, too')
  await pass(s, 20)
  const refused = await ask(KEY, 'https://page.example')
  t.equal(refused.status, 429)
  const waitS = Number(refused.headers.get('retry-after'))
  t.ok(waitS >= 40 && waitS <= 41, `${waitS}`)
  t.match(rateHeaders(refused.headers), {
    ratelimit: `"requests";r=0;t=${waitS}`,
    'x-ratelimit-reset-requests': `${waitS}s`,
  })
  t.equal(refused.headers.get('access-control-expose-headers'), '*')
  t.same(rateHeaders((await ask('sk-nobody')).headers), {}, 'who is unknown has no limit')

  const unlimited = await open(t)
  unlimited.at('a').script = call => call.whole(200, { usage: {} }, FOREIGN)
  const answer = await fetch(unlimited.urls.main + PATHS.chat, {
    method: 'POST',
    headers: { ...HEADERS, 'content-type': 'application/json' },
    body: JSON.stringify(document().body),
  })
  t.same(rateHeaders(answer.headers), {})
})

/** An SDK that sleeps lets the clock of the gateway go on by as much, and wakes at once. */
function sleepingMoves(t: Test, s: Scene): number[] {
  const { setTimeout } = globalThis
  const slept: number[] = []
  t.teardown(() => Object.assign(globalThis, { setTimeout }))
  const fast = (act: (...rest: unknown[]) => void, ms = 0, ...rest: unknown[]) => {
    // its time-out is longer
    const sleeps =
      ms >= 1000 && ms <= 62_000 && /node_modules\/(?:openai|@anthropic-ai)\//.test(new Error().stack ?? '')
    if (!sleeps) return setTimeout(act, ms, ...rest)
    slept.push(ms)
    void pass(s, Math.floor(ms / 1000)).then(() => {
      s.clock.advance(ms % 1000)
      setTimeout(act, 5)
    })
    return setTimeout(() => {}, 0)
  }
  Object.assign(globalThis, { setTimeout: Object.assign(fast, setTimeout) })
  return slept
}

t.test(
  'a whole window of a minute: the official SDKs sleep as long as they are told, and finish within two retries',
  async t => {
    for (const requests of [1, 3]) {
      const s = await open(t, { rate: requests, config: { wire: WIRE } })
      s.at('a').script = call =>
        call.whole(200, {
          type: 'message',
          content: [{ type: 'text', text: 'hello' }],
          choices: [{ message: { content: 'hello' } }],
          candidates: [{ content: { parts: [{ text: 'hello' }] }, finishReason: 'STOP' }],
          usage: { prompt_tokens: 1, completion_tokens: 1, input_tokens: 1, output_tokens: 1 },
        })
      const messages = [{ role: 'user' as const, content: 'hi' }]
      const openai = new OpenAI({ baseURL: `${s.urls.main}/v1`, apiKey: KEY })
      const anthropic = new Anthropic({ baseURL: s.urls.main, apiKey: KEY })
      const calls: Record<string, () => Promise<unknown>> = {
        openai: () => openai.chat.completions.create({ model: MODEL, messages }),
        'openai responses': () => openai.responses.create({ model: MODEL, input: 'hi' }),
        anthropic: () => anthropic.messages.create({ model: MODEL, max_tokens: 5, messages }),
      }
      const slept = sleepingMoves(t, s)
      for (const [name, call] of Object.entries(calls)) {
        for (let i = 0; i < requests; i++) await call()
        slept.length = 0
        t.match(await call(), { usage: {} }, `${name}: the one too many is answered, too`)
        t.ok(slept.length >= 1 && slept.length <= 2, `${name}: ${slept.length} retries`)
        t.ok(slept[0]! > 50_000 && slept[0]! <= 60_000, `${name}: it slept ${slept} ms`)
        await pass(s, 62)
      }
    }
  },
)

t.test('the official SDKs finish with their two retries, because retry-after is when one more fits', async t => {
  const s = await open(t, { rate: 1, config: { wire: WIRE } })
  s.at('a').script = call =>
    call.whole(200, {
      type: 'message',
      content: [{ type: 'text', text: 'hello' }],
      choices: [{ message: { content: 'hello' } }],
      usage: { prompt_tokens: 1, completion_tokens: 1, input_tokens: 1, output_tokens: 1 },
    })
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const openai = new OpenAI({ baseURL: `${s.urls.main}/v1`, apiKey: KEY })
  const anthropic = new Anthropic({ baseURL: s.urls.main, apiKey: KEY })
  const calls = [
    () => openai.chat.completions.create({ model: MODEL, messages }),
    () => anthropic.messages.create({ model: MODEL, max_tokens: 5, messages }),
  ]
  for (const call of calls) {
    await call()
    await pass(s, 60)
    const asked = call() // is told to come back in a second
    setTimeout(() => s.clock.advance(1_000), 300)
    t.match(await asked, { usage: {} })
    await pass(s, 62)
  }
})
