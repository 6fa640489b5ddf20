/** What is learned of the answers of models: figures that nobody moves alone, shared by all processes, kept over restarts. */
import t from 'tap'
import { lastOf, ModelStats, type WholeAnswer } from '../../lib/exchange/record/model-stats.ts'
import type { Store } from '../../lib/store/store.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { TestClock } from '../support/clock.ts'
import { HEADERS, keyOf, MODEL, open, OTHER_KEY, PATHS } from './support/gateway.ts'
import { changed, memoryStore } from '../support/store.ts'

const log = { error: (data: object) => t.fail(JSON.stringify(data)) } as never

const answer = (change: Partial<WholeAnswer> = {}): WholeAnswer => ({
  account: 1,
  model: 'm',
  effort: 'off',
  output: 100,
  counted: 100,
  thinks: false,
  unbounded: null,
  ...change,
})

async function stats(store: Pick<Store, 'modelStats'>, clock = new TestClock()): Promise<ModelStats> {
  const made = new ModelStats({ store, clock, log })
  await made.start()
  return made
}

/** Notes `count` answers, of as many accounts in turn. */
function note(to: ModelStats, count: number, accounts: number, change: (i: number) => Partial<WholeAnswer>): void {
  for (let i = 0; i < count; i++) to.note(answer({ account: (i % accounts) + 1, ...change(i) }))
}

async function opened(t: { teardown(fn: () => unknown): unknown }): Promise<Store> {
  const store = await memoryStore()
  t.teardown(() => store.close())
  return store
}

t.test('the ratio of what is reported to what is seen', async t => {
  const rows: [what: string, count: number, accounts: number, output: number, counted: number, want: number][] = [
    ['all is seen', 100, 5, 100, 100, 1000],
    ['a tenth is seen', 100, 5, 1000, 100, 10_000],
    ['it is kept in thousandths', 100, 5, 1000, 300, 3334],
    ['less is reported than seen', 100, 5, 50, 100, 1000],
    ['next to nothing is seen', 100, 5, 100_000, 1, 20_000],
    ['nothing is seen', 100, 5, 100, 0, 20_000],
    ['too few answers', 99, 5, 1000, 100, 1000],
    ['too few accounts', 1000, 4, 1000, 100, 1000],
  ]
  for (const [what, count, accounts, output, counted, want] of rows) {
    const one = await stats(await opened(t))
    note(one, count, accounts, () => ({ effort: 'high', output, counted }))
    await one.merge()
    t.equal(one.hiddenRatio('m', 'high'), want, what)
    t.equal(one.hiddenRatio('m', 'low'), 1000, 'another effort is another ratio')
    t.equal(one.hiddenRatio('other', 'high'), 1000, 'another model too')
  }
})

t.test('how much is written where no maximum is named', async t => {
  const rows: [what: string, count: number, accounts: number, output: (i: number) => number, want: number | null][] = [
    ['the 99th percentile', 200, 5, i => i + 1, 198],
    ['too few answers', 199, 5, i => i + 1, null],
    ['too few accounts', 500, 4, i => i + 1, null],
  ]
  for (const [what, count, accounts, output, want] of rows) {
    const one = await stats(await opened(t))
    note(one, count, accounts, i => ({ output: output(i), unbounded: 1 }))
    await one.merge()
    t.equal(one.openOutput('m'), want, what)
  }
  const one = await stats(await opened(t))
  note(one, 200, 5, () => ({ output: 1000, unbounded: 4 }))
  note(one, 200, 5, () => ({ output: 9000 }))
  await one.merge()
  t.equal(one.openOutput('m'), 250, 'of each answer, and of requests with a maximum nothing')
})

t.test('one account moves nothing', async t => {
  const store = await opened(t)
  const one = await stats(store)
  note(one, 400, 8, () => ({ effort: 'high', output: 1000, counted: 100, unbounded: 1 }))
  await one.merge()
  for (let i = 0; i < 5000; i++)
    one.note(answer({ account: 99, effort: 'high', output: 10, counted: 10, unbounded: 1 }))
  await one.merge()
  t.equal(one.openOutput('m'), 1000)
  t.ok(one.hiddenRatio('m', 'high') > 9000, `${one.hiddenRatio('m', 'high')}`)
  // neither does the length of its answers
  for (const counted of [1, 60_000]) {
    for (let i = 0; i < 50; i++) one.note(answer({ account: 99, effort: 'high', output: 60_000, counted }))
    await one.merge()
    const ratio = one.hiddenRatio('m', 'high')
    t.ok(ratio > 4000 && ratio < 12_000, `${ratio}`)
  }
  const samples = lastOf(Array.from({ length: 3000 }, (_, i) => ({ ...answer(), account: i < 1000 ? i : 7 })))
  t.equal(samples.filter(({ account }) => account === 7).length, 50)
  t.equal(samples.length, 1000)
})

t.test('several processes learn together, and a restart forgets nothing', async t => {
  const store = await opened(t)
  const [clock, other] = [new TestClock(), new TestClock()]
  const one = await stats(store, clock)
  const two = await stats(store, other)
  note(one, 60, 3, () => ({ output: 500 }))
  for (let i = 0; i < 60; i++) two.note(answer({ account: (i % 3) + 10, output: 500, thinks: i === 7 }))
  t.equal(two.thinks('m'), true, 'what a process has seen itself it knows at once')
  t.equal(two.thinksForAll('m'), false, 'others do not know it yet')
  t.equal(one.thinks('m'), false)
  await Promise.all([one.merge(), two.merge()])
  await one.merge()
  t.equal(one.hiddenRatio('m', 'off'), 5000)
  t.same([one.thinks('m'), one.thinksForAll('m'), two.thinksForAll('m')], [true, true, true])
  const three = await stats(store)
  t.equal(three.hiddenRatio('m', 'off'), 5000)
  t.equal(three.thinks('m'), true)
  await two.merge()
  t.equal(two.hiddenRatio('m', 'off'), 5000)
})

t.test('the end of a process loses nothing, and a store that is away nothing for a while', async t => {
  const store = await opened(t)
  let isAway = true
  const away = changed(store, {
    modelStats: {
      swap: (...args) => (isAway ? Promise.reject(new StoreUnavailable('away')) : store.modelStats.swap(...args)),
    },
  })
  const one = await stats(away)
  note(one, 120, 6, () => ({ output: 300 }))
  await one.merge()
  t.equal(one.hiddenRatio('m', 'off'), 1000)
  isAway = false
  await one.stop()
  t.equal((await stats(store)).hiddenRatio('m', 'off'), 3000)
})

const CHAT = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 1000 },
}
const ADVISED = {
  type: 'message',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: {
    input_tokens: 10,
    output_tokens: 1,
    iterations: [
      { type: 'message', input_tokens: 10, output_tokens: 1 },
      { type: 'advisor_message', model: 'another', input_tokens: 10, output_tokens: 999 },
    ],
  },
}
/** Two passes, both of the model that was asked for. */
const OWN = {
  ...ADVISED,
  usage: {
    input_tokens: 10,
    output_tokens: 1000,
    iterations: [
      { type: 'message', input_tokens: 10, output_tokens: 1 },
      { type: 'compaction', model: MODEL, input_tokens: 10, output_tokens: 999 },
    ],
  },
}

for (const [what, path, more, answer, ratio] of [
  ['what a model thinks is learned', 'chat', {}, CHAT, 20_000],
  ['text that is predicted and does not come', 'chat', { prediction: { type: 'content', content: 'x' } }, CHAT, 1000],
  ['answers that are not the best', 'chat', { best_of: 4 }, CHAT, 1000],
  ['what another model wrote', 'messages', {}, ADVISED, 1000],
  ['what the model wrote in passes that name it is learned', 'messages', {}, OWN, 20_000],
] as const)
  t.test(`${what}${ratio === 1000 ? ' is no thought of the model' : ''}`, async t => {
    const s = await open(t, { accounts: { three: 100, four: 100, five: 100 } })
    s.at('a').script = call => call.whole(200, answer)
    const own = ['three', 'four', 'five'].map(name => ({
      authorization: `Bearer ${keyOf(name)}`,
      'x-api-key': keyOf(name),
    }))
    const all = [HEADERS, { authorization: `Bearer ${OTHER_KEY}`, 'x-api-key': OTHER_KEY }, ...own]
    const body = { model: MODEL, max_tokens: 2000, messages: [{ role: 'user', content: 'Hi' }], ...more }
    for (let i = 0; i < 100; i++) {
      const asked = s.ask({ path: PATHS[path], headers: all[i % all.length] as Record<string, string>, body })
      await asked.end()
      t.equal(asked.status, 200)
    }
    await s.services.stats.merge()
    t.equal(s.services.stats.hiddenRatio(MODEL, 'off'), ratio)
  })
