/**
 * What coding tools expect of a gateway between them and their model: betas and versions go on as they came, headers about a session stay here,
 * models are discovered when the tool is told to look for them, and what the gateway does not have is a plain 404.
 */
import net from 'node:net'
import t from 'tap'
import { until } from '../support/wait.ts'
import { HEADERS, MODEL, NOTHING_LEFT, open } from './support/gateway.ts'
import { SENT, whole } from './support/four.ts'

const SESSION = {
  'x-claude-code-session-id': 'session-1',
  'X-Claude-Code-Agent-Id': 'agent-1',
  'x-claude-code-parent-agent-id': 'agent-0',
}
const BETAS = 'claude-code-20250219,interleaved-thinking-2025-05-14,some-beta-of-tomorrow'
const VERSION = '2026-10-21'
const body = { model: MODEL, max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] }

t.test(
  'betas and version go upstream unchanged, what names the session does not: on messages and count_tokens',
  async t => {
    const s = await open(t, { channels: { a: { protocols: ['messages'], kind: 'anthropic', paths: {} } } })
    for (const [path, answer] of [
      ['/v1/messages?beta=true', SENT.messages.document],
      ['/v1/messages/count_tokens?beta=true', { input_tokens: 7 }],
    ] as const) {
      s.at('a').script = call => call.whole(200, answer)
      const headers = { ...HEADERS, ...SESSION, 'anthropic-version': VERSION, 'anthropic-beta': BETAS, 'x-app': 'cli' }
      const client = s.ask({ path, headers, body })
      t.equal(await client.end(), 'whole')
      t.equal(client.status, 200)
      const call = s.at('a').calls.at(-1)!
      t.match(call.head, new RegExp(`^POST ${path.replace('?', '\\?')} HTTP`))
      t.same([call.header('anthropic-version'), call.header('anthropic-beta')], [VERSION, BETAS])
      t.notMatch(call.head, /claude-code-(?:session|agent|parent)|x-app/i)
      t.equal(call.body, JSON.stringify(body), 'byte for byte')
    }
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  },
)

t.test('by translation the upstream gets the version that the gateway writes, and no betas', async t => {
  for (const version of ['2023-06-01', VERSION]) {
    const s = await open(t, { channels: { a: { protocols: ['messages'], translate: true } } })
    s.at('a').script = whole('messages')
    const headers = { ...HEADERS, ...SESSION, 'anthropic-version': version, 'anthropic-beta': BETAS }
    const client = s.ask({ path: '/v1/chat/completions', headers, body })
    await client.end()
    t.equal(client.status, 200, client.text)
    const { head } = await s.at('a').call()
    t.match(head, /anthropic-version: 2023-06-01\r\n/i)
    t.notMatch(head, /beta|claude-code/i)
  }
})

t.test('a session stays on the channel that holds its prompt cache', async t => {
  const s = await open(t, {
    channels: { a: { protocols: ['messages'], priority: 0 }, b: { protocols: ['messages'], priority: 0 } },
  })
  for (const name of ['a', 'b']) s.at(name).script = whole('messages')
  for (let session = 0; session < 12; session++) {
    const before = s.asked()
    for (let turn = 0; turn < 3; turn++)
      await s
        .ask({ path: '/v1/messages', headers: { ...HEADERS, 'x-claude-code-session-id': `s${session}` }, body })
        .end()
    const after = s.asked()
    t.same(['a', 'b'].map(name => after[name]! - before[name]!).sort(), [0, 3])
  }
  t.ok(s.asked()['a']! > 0 && s.asked()['b']! > 0, 'and not all on one')
})

t.test('the gateway protocol of the vendor is not spoken, and probes are greeted', async t => {
  const s = await open(t)
  for (const [method, path, status] of [
    ['GET', '/protocol', 404],
    ['GET', '/v1/protocol', 404],
    ['HEAD', '/', 200],
    ['HEAD', '/api/hello', 200],
    ['GET', '/api/hello', 200],
  ] as const)
    for (const url of Object.values(s.urls)) {
      const answer = await fetch(url + path, { method, headers: HEADERS })
      t.equal(answer.status, status, `${method} ${path}`)
      if (status === 404) t.match(await answer.json(), { error: { type: 'invalid_request_error', param: '' } })
      if (status === 404) t.equal(answer.headers.get('x-should-retry'), 'false')
    }
})

t.test('models are discovered by ids that have the family in their name', async t => {
  const s = await open(t, {
    models: ['claude-sonnet', 'other'],
    channels: { a: { models: ['claude-sonnet', 'other'] } },
  })
  for (const key of [{ authorization: HEADERS.authorization }, { 'x-api-key': HEADERS['x-api-key'] }]) {
    const answer = await fetch(`${s.urls.main}/v1/models?limit=1000`, {
      headers: { ...key, 'anthropic-version': VERSION },
      redirect: 'error',
    })
    const { data } = (await answer.json()) as { data: { id: string; display_name: string }[] }
    const found = data.filter(({ id }) => /claude|anthropic/i.test(id))
    t.match(found, [{ id: 'claude-sonnet', display_name: 'claude-sonnet' }])
  }
})

t.test('a WebSocket where none is spoken is a plain 404 over HTTP, with or without a key', async t => {
  const s = await open(t)
  const { port } = new URL(s.urls.main)
  for (const path of [
    '/v1/realtime?model=m',
    '/v1/live/x',
    '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k',
  ])
    for (const key of ['', `authorization: ${HEADERS.authorization}\r\n`]) {
      const socket = net.connect(Number(port), '127.0.0.1')
      let text = ''
      socket.on('data', data => (text += data))
      const head = `host: gateway\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n`
      socket.write(`GET ${path} HTTP/1.1\r\n${head}${key}\r\n`)
      await until('an answer', () => text.includes('\r\n\r\n{'))
      t.match(text, /^HTTP\/1\.1 404 /)
      t.match(text, /Invalid URL \(GET \/[^?]*\)/, 'without its query')
      t.notMatch(text, /\r\nupgrade:/i)
      socket.destroy()
    }
})
