/**
 * Requests whose worst case an account cannot pay: without a maximum that the upstream reads, or where the model thinks beside it.
 * One of an account at a time is let through with less held. Thirty at once had turned 5 into -21.88.
 */
import t from 'tap'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { limitOf, SETUP } from '../support/store.ts'
import { until } from '../support/wait.ts'
import { HEADERS, MODEL, NOTHING_LEFT, type Options, open, type Scene } from './support/gateway.ts'
import { answers } from './support/speech.ts'

/** A token of output costs a micro-CNY and input nothing, so that amounts are tokens. */
const CEILING = 64_000
const DEFAULT = 4096
/** A fifth of the worst case. */
const PART = CEILING / 5
const ADMITTED = DEFAULT + PART

const scene = (t: Parameters<typeof open>[0], credit: number, more: Options = {}) =>
  open(t, { credit, prices: { [MODEL]: { input: 0, output: 1 } }, model: { max_output: CEILING }, ...more })

const ask = (s: Scene, body: object = {}) =>
  s.ask({ path: '/v1/chat/completions', headers: HEADERS, body: { model: MODEL, messages: [], ...body } })

async function refusal(s: Scene, body: object = {}) {
  const client = ask(s, body)
  await client.end()
  return { status: client.status, text: client.text, retryAfter: client.answer.headers.get('retry-after') }
}

t.test('thirty at once, with money for one: one is asked, and the account ends below zero by one answer', async t => {
  const s = await scene(t, ADMITTED)
  s.at('a').script = answers(0, CEILING)
  const clients = Array.from({ length: 30 }, () => ask(s))
  await Promise.all(clients.map(client => client.end()))
  const { rows, ok, left } = await s.books()
  t.match([ok, left], [true, NOTHING_LEFT])
  t.equal(rows.length, 1)
  t.same(
    clients.map(({ status }) => status).filter(status => status !== 200 && status !== 429 && status !== 403),
    [],
  )
  t.equal(
    rows.reduce((sum, { charge }) => sum + charge, 0),
    CEILING,
  )
  t.equal(await s.metric('gateway_uncovered_total', { outcome: 'admitted' }), 1)
})

t.test('what covers the worst case is held whole, and asks nobody for a right', async t => {
  const s = await scene(t, 10 * CEILING)
  s.store.uncovered.take = () => Promise.reject(new Error('asked for a right'))
  const clients = Array.from({ length: 10 }, () => ask(s))
  await s.at('a').call(9)
  t.equal(s.services.ledger.heldTotal, 10 * CEILING)
  for (const call of s.at('a').calls) answers(0, 10)(call)
  await Promise.all(clients.map(client => client.end()))
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('the one: what is held, what stands in its way, and what another is told', async t => {
  const s = await scene(t, ADMITTED)
  const first = ask(s)
  const call = await s.at('a').call()
  t.equal(s.services.ledger.heldTotal, DEFAULT)
  const again = await refusal(s)
  t.match(again, { status: 429, text: /并发数限制/, retryAfter: '1' })
  t.equal(await s.metric('gateway_uncovered_total', { outcome: 'refused' }), 1)
  t.equal((await refusal(s, { max_tokens: ADMITTED })).status, 403, 'a named maximum is simply too much')
  const named = ask(s, { max_tokens: 100 })
  answers(0, 100)(await s.at('a').call(1))
  await named.end()
  t.equal(named.status, 200, 'one that is covered passes beside it')
  answers(0, 10)(call)
  await first.end()
  await s.books()
  const next = ask(s)
  await next.end()
  t.match(next.text, new RegExp(`剩余额度: ¥0.${String(ADMITTED - 110).padStart(6, '0')}, 需要预扣费额度: ¥0.0${PART}`))
})

t.test('too little: the smaller hold where that is too much, else a fifth of the worst case', async t => {
  const rows: [credit: number, status: number, text: RegExp][] = [
    [ADMITTED - 1, 403, /需要预扣费额度: ¥0.012800/],
    [DEFAULT, 403, /需要预扣费额度: ¥0.012800/],
    [DEFAULT - 1, 403, /需要预扣费额度: ¥0.004096/],
  ]
  for (const [credit, status, text] of rows) {
    const s = await scene(t, credit)
    t.match(await refusal(s), { status, text })
    t.equal(s.at('a').calls.length, 0)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  }
})

t.test('caps and budgets alike', async t => {
  const set: Record<string, (s: Scene, amount: number) => Promise<unknown>> = {
    budget: (s, amount) =>
      s.store.accounts.update(1, { budget: { limit: limitOf(amount, 'day'), atMs: s.clock.now() } }, SETUP),
    cap: async (s, amount) => {
      const key = (await s.store.keys.list())[0]!
      return s.store.keys.update(key.id, { cap: { limit: limitOf(amount), atMs: s.clock.now() } }, SETUP)
    },
  }
  for (const [what, limit] of Object.entries(set)) {
    const s = await scene(t, 100 * CEILING)
    await limit(s, ADMITTED)
    await s.follow()
    const first = ask(s)
    const call = await s.at('a').call()
    t.equal(s.services.ledger.heldTotal, DEFAULT, what)
    t.match(await refusal(s), { status: 429, retryAfter: '1' }, what)
    answers(0, 10)(call)
    await first.end()
    await limit(s, DEFAULT)
    await s.follow()
    t.match(await refusal(s), { status: 403, text: /预扣费额度失败/ }, what)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  }
})

t.test('thoughts beside a maximum', async t => {
  const rows: [what: string, body: object, channel: Record<string, unknown>, held: number][] = [
    ['nothing is thought', {}, {}, 100],
    ['thoughts are asked for', { reasoning_effort: 'low' }, {}, 100 + CEILING],
    ['thoughts are not wanted', { reasoning_effort: 'none' }, {}, 100],
    ['the maximum bounds them', { reasoning_effort: 'low' }, { thoughts: 'within' }, 100],
    ['a budget that nobody reads', { thinking_budget: 5 }, {}, 100 + CEILING],
    ['a budget that is read', { thinking_budget: 5 }, { kind: 'dashscope', protocols: ['chat'] }, 105],
  ]
  for (const [what, body, channel, held] of rows) {
    const s = await scene(t, 10 * CEILING, { channels: { a: channel } })
    const client = ask(s, { max_tokens: 100, ...body })
    const call = await s.at('a').call()
    t.equal(s.services.ledger.heldTotal, held, what)
    answers(0, 10)(call)
    await client.end()
  }
  const s = await scene(t, ADMITTED)
  const client = ask(s, { max_tokens: 100, reasoning_effort: 'low' })
  answers(0, 10)(await s.at('a').call())
  await client.end()
  t.equal(client.status, 200, 'one is let through with its maximum held')
  t.match(await s.books(), { rows: [{ held: 100 }] })
})

t.test(
  'where holds grow: what cannot think is held in part, and counted with what its model does not show',
  async t => {
    const config = { hold: { output_tokens: 50 } }
    const stream = { stream: true, max_tokens: 10_000 }
    const word = `data: {"choices":[{"delta":{"content":"${'x'.repeat(440)}"}}]}\n\n`
    for (const [ratio, held] of [
      [1000, 125],
      [3000, 325],
    ] as const) {
      const s = await scene(t, 10 * CEILING, { config })
      s.services.stats.hiddenRatio = () => ratio
      const client = ask(s, stream)
      const call = await s.at('a').call()
      t.equal(s.services.ledger.heldTotal, 50)
      call.stream()
      call.chunk(word)
      await client.sees('xxx')
      t.equal(s.services.ledger.heldTotal, held, `100 tokens × ${ratio}, and half a step ahead`)
      call.chunk('data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":100}}\n\ndata: [DONE]\n\n')
      call.end()
      await client.end()
      t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ charge: 100 }] })
    }
    const s = await scene(t, 10 * CEILING, { config })
    const client = ask(s, { ...stream, reasoning_effort: 'low' })
    const call = await s.at('a').call()
    t.equal(s.services.ledger.heldTotal, 10_000 + CEILING, 'what can think is held as a whole answer is')
    call.reset()
    await client.end()
  },
)

t.test('another gateway has the right; it dies, and the right ends', async t => {
  const s = await scene(t, ADMITTED)
  t.equal(await s.store.uncovered.take(1, 'of another gateway', 3_600_000), true)
  t.match(await refusal(s), { status: 429, retryAfter: '1' })
  t.match(await s.books(), { left: NOTHING_LEFT })
  await s.store.uncovered.keep(['of another gateway'], 0)
  const client = ask(s)
  answers(0, 10)(await s.at('a').call())
  await client.end()
  t.equal(client.status, 200)
  t.equal(s.services.uncovered.size, 0)
})

t.test('the right goes back with the end of the request, whatever its end', async t => {
  const s = await scene(t, 200 * ADMITTED, { prices: { [MODEL]: { input: 0, output: 100 } } })
  for (const [n, end] of [
    (call: Parameters<ReturnType<typeof answers>>[0]) => answers(0, 10)(call),
    (call: Parameters<ReturnType<typeof answers>>[0]) => call.whole(400, {}),
    (call: Parameters<ReturnType<typeof answers>>[0]) => call.reset(),
  ].entries()) {
    const client = ask(s)
    end(await s.at('a').call(n))
    await client.end()
    await until('the right is given back', () => s.services.uncovered.size === 0)
  }
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  t.equal(await s.store.uncovered.take(1, 'other', 0), true)
})

t.test('a store that is away gives no right, and nobody is told that he has too little', async t => {
  const s = await scene(t, ADMITTED)
  s.store.uncovered.take = () => Promise.reject(new StoreUnavailable('away'))
  t.equal((await refusal(s)).status, 503)
  t.match(await s.books(), { left: NOTHING_LEFT })
  t.equal(s.services.uncovered.size, 0)
})
