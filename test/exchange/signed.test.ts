/** Requests to upstreams whose channels have no plain key: what they are, what happens when nothing can be signed, and what is never seen. */
import t from 'tap'
import { Vertex } from '../support/vertex.ts'
import { until } from '../support/wait.ts'
import { HEADERS, MODEL, NOTHING_LEFT, type Options, open, PATHS } from './support/gateway.ts'
import { answers } from './support/speech.ts'

type Json = Record<string, unknown>
const ASK = {
  path: PATHS.messages,
  headers: { ...HEADERS, 'anthropic-beta': 'context-1m-2025-08-07,other-1, interleaved-thinking-2025-05-14' },
  body: { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
}
const TOO = { path: PATHS.chat, headers: HEADERS, body: ASK.body }

/** Behind a channel `v` at the double there is another one, `z`, with a plain key, unless it is to be alone. */
async function scene(t: import('tap').Test, alone = false, channel: Json = {}, options: Options = {}) {
  const double = await Vertex.open(t)
  const v = {
    protocols: ['messages'],
    models: { [MODEL]: 'claude-1@20260101' },
    key: undefined,
    ...double.channel(channel),
  }
  const s = await open(t, { ...options, channels: alone ? { v } : { v, z: { protocols: ['messages'] } } })
  if (!alone) s.at('z').script = answers(100, 10)
  const said = () => JSON.stringify(s.logged)
  const lines = (msg: string) => s.logged.filter(line => line['msg'] === msg)
  return { ...s, double, said, lines }
}

t.test('a messages client and a chat client at Claude on Vertex', async t => {
  const s = await scene(t, true)
  for (const ask of [ASK, TOO]) {
    const asked = s.ask(ask)
    t.equal(await asked.end(), 'whole')
    t.equal(asked.status, 200, asked.text)
  }
  t.equal(s.double.tokensAsked, 1)
  const url = '/v1/projects/project-1/locations/us-east5/publishers/anthropic/models/claude-1@20260101:rawPredict'
  const [native, translated] = s.double.asked
  t.equal(native?.url, url)
  t.same(native?.body, {
    anthropic_version: 'vertex-2023-10-16',
    anthropic_beta: ['context-1m-2025-08-07', 'interleaved-thinking-2025-05-14'],
    max_tokens: 100,
    messages: ASK.body.messages,
  })
  t.equal(translated?.url, url)
  t.match(translated?.body, { anthropic_version: 'vertex-2023-10-16', max_tokens: 100, model: undefined })
  const { rows, left, ok } = await s.books()
  t.match(rows, [
    { channel: 'v', via: null, charge: 280, basis: 'reported' },
    { channel: 'v', via: 'messages', charge: 280, basis: 'reported' },
  ])
  t.same(left, NOTHING_LEFT)
  t.ok(ok)
})

t.test('a token that ends before its time: one new one for all, and the same channel again', async t => {
  const s = await scene(t)
  t.equal(await s.ask(ASK).end(), 'whole')
  s.double.tokens.clear()
  for (const asked of [s.ask(ASK), s.ask(TOO), s.ask(ASK)]) {
    t.equal(await asked.end(), 'whole')
    t.equal(asked.status, 200)
  }
  t.equal(s.double.tokensAsked, 2)
  t.same(s.lines('attempt failed'), [], 'nothing is held against the channel')
  s.double.tokens.clear()
  const other = s.ask(ASK)
  t.equal(await other.end(), 'whole')
  t.equal(other.status, 200)
  t.equal(s.double.tokensAsked, 2, 'an upstream that refuses new ones too gets no further one')
  const { rows, ok } = await s.books()
  t.same(
    rows.map(row => row.channel),
    ['v', 'v', 'v', 'v', 'z'],
  )
  t.ok(rows.some(row => row.attempts?.length === 2 && row.channel === 'v'))
  t.ok(ok)
  t.match(s.lines('attempt failed'), [{ channel: 'v', outcome: 'auth', status: 401 }])
})

t.test('no token: the next candidate, a logged cause, and in the end a channel that rests', async t => {
  const s = await scene(t)
  s.double.aheadMs = 7_200_000
  for (let i = 0; i < 3; i++) {
    const asked = s.ask(ASK)
    t.equal(await asked.end(), 'whole')
    t.equal(asked.status, 200)
    s.clock.advance(2_000)
  }
  t.match(s.lines('attempt failed')[0], {
    channel: 'v',
    outcome: 'auth',
    error: 'CREDENTIAL_CLOCK',
    reason: /the clock of this machine is -7\d\d\d s ahead/,
  })
  await s.settled()
  t.match(s.state('v'), 'open')
  t.same(s.refusedKeys(), ['v'])
  t.equal(s.asked()['z'], 3)
  const { rows, ok } = await s.books()
  t.ok(rows.every(row => row.channel === 'z'))
  t.ok(ok)
})

t.test('alone, what cannot be signed is a 502, and the client pays nothing', async t => {
  const s = await scene(t, true)
  s.double.tokenFault = 'down'
  const asked = s.ask(ASK)
  t.equal(await asked.end(), 'whole')
  t.equal(asked.status, 502)
  s.double.tokenFault = null
  s.double.fault = 429
  s.clock.advance(10_000)
  const busy = s.ask(TOO)
  t.equal(await busy.end(), 'whole')
  t.equal(busy.status, 429)
  t.match(JSON.parse(busy.text), { error: { type: 'rate_limit_error' } })
  const { rows, left, ok } = await s.books()
  t.ok(rows.every(row => row.charge === 0))
  t.same(left, NOTHING_LEFT)
  t.ok(ok)
})

t.test('many at once wait for one token; who leaves meanwhile, and who waits for too long, asks nobody', async t => {
  const s = await scene(t, true)
  s.double.lifeS = 20
  const all = Array.from({ length: 8 }, () => s.ask(ASK))
  for (const asked of all) {
    t.equal(await asked.end(), 'whole')
    t.equal(asked.status, 200)
  }
  t.equal(s.double.tokensAsked, 1)
  s.clock.advance(20_000)
  s.double.tokenFault = 'silent'
  const leaves = s.ask(ASK)
  await until('the token is asked for', () => s.double.tokensAsked === 2)
  leaves.socket.destroy()
  await until('the client has left', () => s.services.openCount === 0)
  const waits = s.ask(ASK)
  await until('it waits too', () => s.health.states().get('v')?.open === 1)
  s.clock.advance(10_000)
  t.equal(await waits.end(), 'whole')
  t.equal(waits.status, 502)
  t.equal(s.double.tokensAsked, 2, 'for the same answer')
  t.equal(s.double.asked.length, 8)
  const { rows, left, ok } = await s.books()
  t.equal(rows.filter(row => row.charge > 0).length, 8)
  t.same(left, NOTHING_LEFT)
  t.ok(ok)
})

t.test('a token is replaced ahead of its end, and nobody waits for that', async t => {
  const s = await scene(t, true)
  s.double.lifeS = 100
  await s.ask(ASK).end()
  const [first] = s.double.tokens
  s.clock.advance(80_001)
  s.double.tokenFault = 'silent'
  const asked = s.ask(ASK)
  t.equal(await asked.end(), 'whole')
  t.equal(asked.status, 200)
  t.equal(s.double.tokensAsked, 2)
  t.equal(s.double.asked.at(-1)?.headers.authorization, `Bearer ${first}`)
  s.clock.advance(10_000)
  await until('it is logged', () => s.lines('no new token: the present one is used while it lasts').length === 1)
  t.match(s.lines('no new token: the present one is used while it lasts'), [
    { upstream: s.double.origin, error: 'CREDENTIAL_UNREACHABLE', reason: /no answer within 10000 ms/ },
  ])
  s.double.tokenFault = null
  s.clock.advance(2_000)
  // a gateway refuses requests for a moment after a leap of its clock, until it has given its sign of life
  await until('there is a new one', async () => {
    await s.ask(ASK).end()
    return s.double.tokens.size === 2
  })
  t.equal(s.double.asked.at(-1)?.headers.authorization, `Bearer ${[...s.double.tokens][1]}`)
})

t.test('neither credential nor token is ever seen', async t => {
  const s = await scene(t, false, {}, { config: { log: { level: 'debug' } } })
  await s.ask(ASK).end()
  const [token = ''] = s.double.tokens
  s.double.tokens.clear()
  for (let i = 0; i < 2; i++) {
    await s.ask(ASK).end()
    s.double.tokens.clear()
  }
  s.double.aheadMs = 7_200_000
  s.clock.advance(100_000)
  const asked = s.ask(ASK)
  await asked.end()
  const minted = s.services.world.routes.channels.flatMap(one => one.keys.flatMap(key => key.minted))
  const all = `${s.said()} ${asked.text} ${JSON.stringify((await s.books()).rows)}`
  t.match(all, /invalid authentication credentials/)
  for (const secret of [token, ...minted, s.double.secret])
    for (let i = 0; i + 12 <= secret.length; i += 4)
      if (all.includes(secret.slice(i, i + 12))) t.fail('a secret is seen')
})
