/**
 * A document of 20 MB held the event loop up for half a second, because all of it was read, written and copied in one turn. What the
 * gateway's own code does with bytes is counted here, turn by turn of the loop: whatever the document is, no turn touches much of it.
 */
// The bug behind these rows: large answers of others delay everybody (event loop lag, base64 pictures).
import t from 'tap'
import { HEADERS, MODEL, open, PATHS } from './support/gateway.ts'

const OWN_CODE = new URL('../../lib/', import.meta.url).pathname
const MIB = 1024 * 1024
/** So much more than a turn may touch that no slice of another size could hide. */
const SIZE = 10 * MIB
/** A slice, what is read at once beside it, and each of these a few times: as bytes, as text, and in the memory that goes to the thread. */
const MOST_IN_A_TURN = 2 * MIB

/** What touches bytes, and how many a call touches. */
const TOUCHING: [on: object, name: string, bytes: (self: unknown, args: unknown[]) => number][] = [
  [Buffer.prototype, 'toString', self => (self as Buffer).length],
  [Buffer.prototype, 'copy', (self, [, , from = 0, to = (self as Buffer).length]) => (to as number) - (from as number)],
  [Buffer.prototype, 'write', (_self, [text]) => (text as string).length],
  [Buffer.prototype, 'indexOf', self => (self as Buffer).length],
  [Uint8Array.prototype, 'set', (_self, [from]) => (from as Uint8Array).length],
  [Buffer, 'concat', (_self, [parts]) => (parts as Buffer[]).reduce((sum, part) => sum + part.length, 0)],
  [Buffer, 'from', (_self, [text]) => (typeof text === 'string' ? text.length : 0)],
  [JSON, 'parse', (_self, [text]) => String(text).length],
]

/** Counts until `stop`, which says how many bytes the busiest turn touched, and all turns together. */
function count(): { stop(): { most: number; all: number } } {
  let [turn, most, all, isOn] = [0, 0, 0, true]
  const next = (): void => {
    most = Math.max(most, turn)
    turn = 0
    if (isOn) setImmediate(next)
  }
  const undo = TOUCHING.map(([on, name, bytesOf]) => {
    const own = Reflect.get(on, name) as (...args: unknown[]) => unknown
    Reflect.set(on, name, function (this: unknown, ...args: unknown[]) {
      const bytes = bytesOf(this, args)
      const isOwn = bytes > 1024 && new Error('where').stack?.includes(OWN_CODE) === true
      if (isOwn) {
        turn += bytes
        all += bytes
      }
      return Reflect.apply(own, this, args)
    })
    return () => Reflect.set(on, name, own)
  })
  setImmediate(next)
  return {
    stop() {
      isOn = false
      for (const one of undo) one()
      return { most: Math.max(most, turn), all }
    },
  }
}

const PICTURE = Buffer.alloc((SIZE * 3) / 4, 'picture').toString('base64')
const usage = { prompt_tokens: 100, completion_tokens: 10 }
const chat = (message: object) => ({ id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
const drawn = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } }]
const parts = [{ inlineData: { mimeType: 'image/png', data: PICTURE } }]
const DOCUMENTS = {
  'a picture of chat': ['chat', chat({ content: 'Here it is.', images: drawn })],
  'a picture of generate-content': [
    'generate',
    {
      candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10 },
    },
  ],
  'a text full of escapes': ['chat', chat({ content: 'so "it" is\n'.repeat(Math.floor(SIZE / 14)) })],
  'small values': ['chat', chat({ content: Array(100_000).fill({ type: 'text', text: 'a' }) })],
} as const

const asked = {
  chat: { path: PATHS.chat, body: { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Draw.' }] } },
  generate: {
    path: `/v1beta/models/${MODEL}:generateContent`,
    body: { contents: [{ role: 'user', parts: [{ text: 'Draw.' }] }], generationConfig: { maxOutputTokens: 100 } },
  },
  messages: {
    path: PATHS.messages,
    body: { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'x' }] },
  },
}

for (const [what, [upstream, document]] of Object.entries(DOCUMENTS)) {
  const text = JSON.stringify(document)
  for (const client of ['chat', 'generate', 'messages'] as const)
    t.test(`${what}, ${client === upstream ? 'metered' : `translated for ${client}`}`, async t => {
      const s = await open(t, { channels: { a: { protocols: [upstream] } } })
      s.clock.soon = fn => void setImmediate(fn)
      const { path, body } = asked[client]
      const asking = fetch(s.urls.main + path, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) })
      const call = await s.at('a').call()
      const counting = count()
      call.whole(200, text)
      const answer = await asking
      const told = await answer.text()
      const { most, all } = counting.stop()
      t.equal(answer.status, 200, told.slice(0, 300))
      t.ok(all > text.length, `the document was counted: ${all}`)
      t.ok(most < MOST_IN_A_TURN, `at most ${(most / MIB).toFixed(2)} MiB in one turn`)
      const charge = what.startsWith('a picture') ? 500_280 : 280
      t.match((await s.books()).rows, [{ basis: 'reported', charge, end: 'completed' }])
    })
}
