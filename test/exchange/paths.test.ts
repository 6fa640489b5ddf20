import t from 'tap'
import { findTarget } from '../../lib/exchange/paths.ts'
import { passedQuery, queryKey } from '../../lib/exchange/record/request.ts'
import type { Placement } from '../../lib/protocols/protocol.ts'
import type { Protocol } from '../../lib/protocols/names.ts'

interface Sent {
  key?: Placement
  upgrade?: boolean
  version?: boolean
}

const ask = (line: string, sent: Sent = {}) => {
  const [method = '', path = ''] = line.split(' ')
  const headers: Record<string, string> = {}
  if (sent.upgrade === true) headers.upgrade = 'websocket'
  if (sent.version === true) headers['alpha-version'] = '2023-06-01'
  if (sent.key === 'x-api-key') headers['x-api-key'] = 'k'
  if (sent.key === 'bearer') headers.authorization = 'Bearer k'
  if (sent.key === 'gamma') headers['x-gamma-api-key'] = 'k'
  const asked = {
    method,
    path,
    query: sent.key === 'query' ? 'key=k' : '',
    req: { headers },
    world: { config: { wire: {} } },
  }
  return findTarget(asked as unknown as Parameters<typeof findTarget>[0])
}

t.test('every path that leads somewhere', async t => {
  const rows: [string, Sent, string][] = [
    ['POST /v1/messages', {}, 'relay messages'],
    ['POST /v1/messages/count_tokens', {}, 'count messages /count_tokens'],
    ['POST /v1/chat/completions', {}, 'relay chat'],
    ['POST /v1/responses', {}, 'relay responses'],
    ['POST /v1/responses/input_tokens', {}, 'count responses /input_tokens'],
    ['POST /v1/images/generations', {}, 'relay images'],
    ['POST /v1/images/edits', {}, 'relay images'],
    ['POST /images/variations', { key: 'bearer' }, 'relay images'],
    ['POST /v1/embeddings', {}, 'relay embeddings'],
    ['POST /embeddings', { key: 'bearer' }, 'relay embeddings'],
    ['POST /v1beta/models/m:embedContent', {}, 'relay embeddings m embedContent'],
    ['POST /v1/models/a/b:batchEmbedContents', {}, 'relay embeddings a/b batchEmbedContents'],
    ['POST /models/m:embedContent', { key: 'gamma' }, 'relay embeddings m embedContent'],
    ['POST /v1/rerank', {}, 'relay rerank'],
    ['POST /rerank', { key: 'bearer' }, 'relay rerank'],
    ['POST /v1/moderations', {}, 'relay moderations'],
    ['POST /moderations', { key: 'x-api-key' }, 'relay moderations'],
    ['POST /v1/audio/speech', {}, 'relay speech'],
    ['POST /v1/audio/transcriptions', {}, 'relay transcriptions'],
    ['POST /v1/audio/translations', {}, 'relay transcriptions'],
    ['POST /audio/translations', { key: 'bearer' }, 'relay transcriptions'],
    ['POST /audio/speech', { key: 'bearer' }, 'relay speech'],
    ['POST /v1/v1/messages', {}, 'relay messages'],
    ['POST /v1/v1/messages/count_tokens', {}, 'count messages /count_tokens'],
    ['POST /messages', { key: 'x-api-key' }, 'relay messages'],
    ['POST /messages', { key: 'bearer' }, 'relay messages'],
    ['POST /chat/completions', { key: 'bearer' }, 'relay chat'],
    ['POST /v1beta/models/m:generateContent', {}, 'relay generate m generateContent'],
    ['POST /v1alpha/models/m:streamGenerateContent', {}, 'relay generate m streamGenerateContent'],
    ['POST /v1/models/m:countTokens', {}, 'count generate m countTokens'],
    ['POST /models/m:generateContent', { key: 'gamma' }, 'relay generate m generateContent'],
    ['POST /chat/completions', { key: 'x-api-key' }, 'relay chat'],
    ['POST /models/m:generateContent', { key: 'bearer' }, 'relay generate m generateContent'],
    ['GET /responses', { key: 'query', upgrade: true }, 'upgrade responses'],
    ['HEAD /', {}, 'hello'],
    ['GET /api/hello', {}, 'hello'],
    ['HEAD /api/hello', {}, 'hello'],
    ['POST /v1beta/models/tuned/x:generateContent', {}, 'relay generate tuned/x generateContent'],
    ['POST /v1beta/models/a%2Fb:generateContent', {}, 'relay generate a/b generateContent'],
    ['GET /v1/models', {}, 'models'],
    ['GET /v1/dashboard/billing/subscription', {}, 'funds-limit'],
    ['GET /dashboard/billing/subscription', { key: 'bearer' }, 'funds-limit'],
    ['GET /v1/dashboard/billing/usage', {}, 'funds-used'],
    ['GET /api/usage/token', {}, 'funds'],
    ['GET /api/usage/token/', {}, 'funds'],
    ['GET /v1/credits', {}, 'credits'],
    ['GET /credits', { key: 'bearer' }, 'credits'],
    ['GET /v1/key', {}, 'key'],
    ['GET /v1/auth/key', {}, 'key'],
    ['GET /v1/generation', {}, 'generation'],
    ['POST /v1/estimate', {}, 'estimate'],
    ['POST /estimate', { key: 'x-api-key' }, 'estimate'],
    ['GET /v1/models/x', {}, 'model x'],
    ['GET /v1beta/models', {}, 'models native'],
    ['GET /v1beta/models/x', {}, 'model native x'],
    ['GET /v1/v1/models', { version: true }, 'models'],
    ['GET /models', { key: 'query' }, 'models'],
    ['GET /v1/models/a:b', {}, 'model a:b'],
    ['GET /v1/responses', { upgrade: true }, 'upgrade responses'],
    ['GET /responses', { key: 'bearer', upgrade: true }, 'upgrade responses'],
  ]
  for (const [line, sent, want] of rows) {
    const target = ask(line, sent)
    const e = target?.endpoint
    const words = [e?.action, e?.protocol, e?.native ? 'native' : null, e?.suffix, target?.model, target?.verb]
    t.equal(words.filter(Boolean).join(' '), want, line)
  }
})

t.test('and everything else', async t => {
  const rows: [string, Sent][] = [
    ['POST /v1/chat/completion', { key: 'bearer' }],
    ['POST /api/v1/chat/completions', { key: 'bearer' }],
    ['POST /v1/v1/chat/completions', { key: 'bearer' }],
    ['POST /v1/v1/v1/messages', { key: 'bearer' }],
    ['POST /v1/messages/', {}],
    ['POST /chat/completions', {}],
    ['POST /embeddings', {}],
    ['POST /v1/v1/embeddings', { key: 'bearer' }],
    ['POST /v2/rerank', { key: 'bearer' }],
    ['GET /v1/moderations', { key: 'bearer' }],
    ['POST /models/m:generateContent', {}],
    ['POST /api/hello', {}],
    ['HEAD /api', {}],
    ['POST /v1beta/models/m', {}],
    ['POST /v1beta/models/m:other', {}],
    ['POST /v1beta/models/:generateContent', {}],
    ['POST /v1beta/models/%E0%A4%A:generateContent', {}],
    ['POST /v2/models/m:generateContent', {}],
    ['POST /constructor', { key: 'bearer' }],
    ['GET /v1/v1/models', {}],
    ['GET /credits', {}],
    ['GET /v1/estimate', { key: 'bearer' }],
    ['POST /estimate', {}],
    ['POST /v1/v1/estimate', { key: 'bearer' }],
    ['POST /v1/generation', { key: 'bearer' }],
    ['GET /dashboard/billing/usage', {}],
    ['POST /v1/dashboard/billing/usage', { key: 'bearer' }],
    ['GET /v1/dashboard/billing/credit_grants', { key: 'bearer' }],
    ['GET /usage/token', { key: 'bearer' }],
    ['GET /v1/chat/completions', {}],
    ['GET /v1/responses', {}],
    ['GET /v1/responses/resp_1', {}],
    ['GET /models', {}],
    ['GET /responses', { upgrade: true }],
    ['GET /v1/realtime', { key: 'bearer', upgrade: true }],
    ['GET /realtime', { key: 'bearer', upgrade: true }],
    ['GET /v1/live/sessions', { key: 'gamma', upgrade: true }],
    [
      'GET /ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
      { key: 'query', upgrade: true },
    ],
    ['GET /v1/messages', { key: 'x-api-key', upgrade: true }],
    ['GET /protocol', { key: 'bearer' }],
    ['GET /v1/protocol', { key: 'bearer' }],
    ['GET /v1/models/m:generateContent', { key: 'bearer' }],
    ['GET /v1beta/models/m:streamGenerateContent', { key: 'gamma' }],
    ['GET /models/m:countTokens', { key: 'gamma' }],
    ['PUT /v1/messages', {}],
    ['HEAD /v1/models', {}],
    ['GET /', {}],
  ]
  for (const [line, sent] of rows) t.equal(ask(line, sent), null, line)
})

t.test('of the query only what is listed goes upstream, and the key is found by the same reading', async t => {
  const rows: [Protocol, string, string, string | null][] = [
    ['messages', '', '', null],
    ['messages', 'beta=true', '?beta=true', null],
    ['messages', 'key=sk-1&beta=true', '?beta=true', 'sk-1'],
    ['messages', 'beta=true&key=sk-1', '?beta=true', 'sk-1'],
    ['messages', 'b%65ta=tru%65&beta=false', '?beta=true', null],
    ['messages', 'beta=true?key=sk-1', '', null],
    ['messages', 'alt=sse&beta=sk-1', '', null],
    ['responses', 'beta=true', '?beta=true', null],
    ['responses', 'alt=sse&beta=false', '?beta=false', null],
    ['chat', 'beta=true&alt=sse', '', null],
    ['generate', 'alt=sse&k%65y=sk-1&x=%20a+b', '?alt=sse', 'sk-1'],
    ['generate', 'alt=json&alt=sse', '?alt=json', null],
    ['generate', 'alt=proto&$alt=proto&fields=candidates&prettyPrint=false&callback=f', '', null],
    ['generate', 'apikey=1&keys=2', '', null],
    ['generate', '?key=sk-1', '', null],
    ['generate', 'a=1;key=sk-1', '', null],
    ['generate', '%6bey=sk-1', '', 'sk-1'],
    ['generate', 'KEY=sk-1&x=sk-1', '', null],
    ['generate', 'key', '', ''],
    ['generate', '%zz=1&key=a&alt', '', 'a'],
    ['generate', 'key=%zz+%61', '', '%zz a'],
  ]
  for (const [protocol, query, rest, key] of rows) {
    t.equal(passedQuery(query, protocol), rest, query)
    t.equal(queryKey(query), key, query)
  }
})

t.test('a flood of parameters that are no text throws no error for each', async t => {
  const { decodeURIComponent: decode } = globalThis
  let thrown = 0
  t.teardown(() => {
    globalThis.decodeURIComponent = decode
  })
  globalThis.decodeURIComponent = text => {
    try {
      return decode(text)
    } catch (error) {
      thrown++
      throw error
    }
  }
  const query = '%&%ff=%&'.repeat(8_000)
  t.same([queryKey(query), passedQuery(query, 'generate'), queryKey(`${query}key=sk-1`)], [null, '', 'sk-1'])
  t.ok(thrown < 10, `${thrown} errors`)
})
