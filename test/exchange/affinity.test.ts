/** The same conversation goes to the same channel and key, moves on when it rests, and comes back. */
import t from 'tap'
import type { Ask } from './support/client.ts'
import { NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'

const keys = [{ key: 'k0' }, { key: 'k1' }]
const channels = Object.fromEntries(['a', 'b', 'c', 'd'].map(name => [name, { priority: 0, keys }]))
const NAMES = Object.keys(channels)

const long = (n: number, turn: number): object => ({
  messages: [
    { role: 'system', content: `${n} ${'You are kind. '.repeat(2000)}` },
    { role: 'user', content: `${turn}` },
  ],
})

/** The nth conversation's request at one of its turns. */
const WAYS: Record<string, (n: number, turn: number) => Ask> = {
  'a session header': (n, turn) => document({ turn }, { 'session-id': `s${n}` }),
  prompt_cache_key: (n, turn) => document({ turn, prompt_cache_key: `p${n}` }),
  'metadata.user_id': (n, turn) => {
    const { ask } = SPEECH.messages
    return { ...ask, body: { ...(ask.body as object), stream: false, turn, metadata: { user_id: `u${n}` } } }
  },
  'the beginning of a long body': (n, turn) => document(long(n, turn)),
}

const credential = (head: string) => /k[01]\b/.exec(head)?.[0]

/** Channel and key that were asked. */
async function goesTo(s: Scene, ask: Ask): Promise<string> {
  const before = s.asked()
  await s.ask(ask).end()
  const asked = NAMES.filter(name => s.at(name).calls.length > (before[name] ?? 0))
  return asked.map(name => `${name} ${credential(s.at(name).calls.at(-1)?.head ?? '')}`).join(' then ')
}

for (const [way, ask] of Object.entries(WAYS)) {
  t.test(`by ${way}`, async t => {
    const s = await open(t, { channels })
    for (const name of NAMES) s.at(name).script = answers(1, 1)
    const homes: string[] = []
    for (let n = 0; n < 12; n++) {
      const home = await goesTo(s, ask(n, 0))
      homes.push(home)
      for (let turn = 1; turn < 3; turn++) t.equal(await goesTo(s, ask(n, turn)), home)
    }
    t.ok(new Set(homes).size > 2, `conversations are spread: ${homes.join(', ')}`)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  })
}

t.test('it moves when its channel rests, stays there, and returns', async t => {
  const s = await open(t, { channels: Object.fromEntries(NAMES.map(name => [name, { priority: 0 }])) })
  for (const name of NAMES) s.at(name).script = answers(1, 1)
  const ask = document({ prompt_cache_key: 'one' })
  const home = (await goesTo(s, ask)).slice(0, 1)
  s.at(home).script = says(429, { 'retry-after': '60' })
  await goesTo(s, ask)
  const away = await goesTo(s, ask)
  t.not(away.slice(0, 1), home)
  t.equal(await goesTo(s, ask), away)
  s.at(home).script = answers(1, 1)
  s.clock.advance(61_000)
  t.equal((await goesTo(s, ask)).slice(0, 1), home)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})
