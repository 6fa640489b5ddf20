/** Azure and AI Foundry with tokens of Microsoft Entra ID through the whole gateway: paths, renewal, a wrong audience, and what is never seen. */
import t, { type Test } from 'tap'
import { Entra } from '../support/entra.ts'
import { HEADERS, MODEL, NOTHING_LEFT, type Options, open, PATHS } from './support/gateway.ts'
import { answers } from './support/speech.ts'

type Json = Record<string, unknown>
const MESSAGES = [{ role: 'user', content: 'Hi' }]
const CHAT = { path: PATHS.chat, headers: HEADERS, body: { model: MODEL, max_tokens: 100, messages: MESSAGES } }
const CLAUDE = { ...CHAT, path: PATHS.messages }

/** Behind a channel `e` at the double there is another one, `z`, with a plain key, unless it is to be alone. */
async function scene(t: Test, { alone = false, entra = {} as Json, more = {} as Json, options = {} as Options } = {}) {
  const double = await Entra.open(t)
  const e = { protocols: ['chat'], models: { [MODEL]: 'deployment-1' }, ...double.channel(entra), ...more }
  const z = { protocols: ['chat'] }
  const s = await open(t, { ...options, channels: alone ? { e } : { e, z } })
  if (!alone) s.at('z').script = answers(100, 10)
  const lines = (msg: string) => s.logged.filter(line => line['msg'] === msg)
  return { ...s, double, lines }
}

t.test('chat at Azure, and Claude at AI Foundry, with a token in the place of a key', async t => {
  const s = await scene(t, { alone: true })
  const foundry = await scene(t, { alone: true, more: { protocols: ['messages'] } })
  for (const [at, ask, url] of [
    [s, CHAT, '/openai/v1/chat/completions'],
    [foundry, CLAUDE, '/anthropic/v1/messages'],
  ] as const) {
    const asked = at.ask(ask)
    t.equal(await asked.end(), 'whole')
    t.equal(asked.status, 200, asked.text)
    const [seen] = at.double.asked
    t.equal(seen?.url, url)
    t.match(seen?.headers, { authorization: /^Bearer eyJ0eXAi\./, 'api-key': undefined, 'x-api-key': undefined })
    t.match(seen?.body, { model: 'deployment-1' })
    const { rows, left, ok } = await at.books()
    t.match(rows, [{ channel: 'e', charge: 280, basis: 'reported' }])
    t.strictSame(left, NOTHING_LEFT)
    t.ok(ok)
  }
})

t.test('the older form, with the deployment in the path', async t => {
  const s = await scene(t, { alone: true, more: { kind: 'azure-deployments-entra' } })
  const asked = s.ask(CHAT)
  t.equal(await asked.end(), 'whole')
  t.equal(s.double.asked[0]?.url, '/openai/deployments/deployment-1/chat/completions?api-version=2024-10-21')
})

t.test('a token that ends before its time: one new one for all, and the same channel again', async t => {
  const s = await scene(t)
  t.equal(await s.ask(CHAT).end(), 'whole')
  s.double.tokens.clear()
  for (const asked of [s.ask(CHAT), s.ask(CHAT)]) t.equal(await asked.end(), 'whole')
  t.equal(s.double.questions.length, 2)
  t.strictSame(s.lines('attempt failed'), [])
  const { rows } = await s.books()
  t.ok(rows.every(row => row.channel === 'e'))
})

t.test('a token for another audience is a fault of the configuration: named, not asked for again', async t => {
  const s = await scene(t)
  s.double.audience = 'https://ai.azure.com'
  for (let i = 0; i < 3; i++) {
    const asked = s.ask(CHAT)
    t.equal(await asked.end(), 'whole')
    t.equal(asked.status, 200, 'the next channel answers')
  }
  t.equal(s.double.questions.length, 1)
  t.match(s.lines('attempt failed')[0], {
    channel: 'e',
    outcome: 'auth',
    status: 401,
    reason: /for another audience: `scope`/,
  })
  const right = await scene(t, { alone: true, entra: { scope: 'https://ai.azure.com/.default' } })
  right.double.audience = 'https://ai.azure.com'
  const asked = right.ask(CHAT)
  t.equal(await asked.end(), 'whole')
  t.equal(asked.status, 200, 'with the scope that the upstream names')
})

t.test('no token: the next candidate; alone, a 502 that costs nothing', async t => {
  const s = await scene(t, { entra: { client_secret: 'wrong~secret~0123456789' } })
  const asked = s.ask(CHAT)
  t.equal(await asked.end(), 'whole')
  t.equal(asked.status, 200)
  t.match(s.lines('attempt failed')[0], {
    channel: 'e',
    outcome: 'auth',
    error: 'CREDENTIAL_REFUSED',
    reason: /AADSTS7000215/,
  })
  const alone = await scene(t, { alone: true })
  alone.double.tokenFault = 'down'
  const refused = alone.ask(CHAT)
  t.equal(await refused.end(), 'whole')
  t.equal(refused.status, 502)
  const { rows, left, ok } = await alone.books()
  t.ok(rows.every(row => row.charge === 0))
  t.strictSame(left, NOTHING_LEFT)
  t.ok(ok)
})

t.test('neither secret nor token is ever seen', async t => {
  const s = await scene(t, { options: { config: { log: { level: 'debug' } } } })
  await s.ask(CHAT).end()
  const [token = ''] = s.double.tokens.keys()
  s.double.audience = token // quoted by the upstream
  const asked = s.ask(CHAT)
  await asked.end()
  s.clock.advance(4_000_000)
  s.double.tokenFault = 'busy'
  const last = s.ask(CHAT)
  await last.end()
  const all = `${JSON.stringify(s.logged)} ${asked.text} ${last.text} ${JSON.stringify((await s.books()).rows)}`
  t.match(all, 'what the upstream said')
  for (const secret of [token, s.double.secret])
    for (let i = 0; i + 12 <= secret.length; i += 4)
      if (all.includes(secret.slice(i, i + 12))) t.fail('a secret is seen')
})
