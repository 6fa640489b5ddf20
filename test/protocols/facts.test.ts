import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Span, Facts, Prompt } from '../../lib/protocols/requests/facts.ts'
import { askForUsage, editBody, mapModel } from '../../lib/protocols/requests/edits.ts'
import { JsonScanner } from '../../lib/protocols/json/scanner.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { cut, json, jsonText, key, type Random, seeded, text } from '../support/random.ts'

const scan = (chunks: Buffer[], protocol: Protocol = 'chat'): Facts | null => {
  const s = protocolRow(protocol).body.scan('application/json')
  for (const chunk of chunks) s.feed(chunk)
  return s.end()
}
const of = (body: string | Buffer, protocol?: Protocol): Facts | null => scan([Buffer.from(body)], protocol)
const bytewise = (body: string | Buffer, protocol?: Protocol): Facts | null =>
  scan(
    [...Buffer.from(body)].map(b => Buffer.of(b)),
    protocol,
  )

/** Names of other models to turn to, which are the upstream's own and have no price here. */
function otherModels(): [Protocol, string, Partial<Facts>][] {
  const rows: [Protocol, string, Partial<Facts>][] = []
  for (const protocol of [
    'messages',
    'chat',
    'responses',
    'images',
    'embeddings',
    'rerank',
    'moderations',
    'speech',
  ] as const)
    for (const name of ['models', 'route', 'fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks']) {
      if (protocol === 'messages' && name === 'fallbacks') continue
      rows.push(
        [protocol, `{"${name}":[{"m":["dear"]}]}`, { invalid: name }],
        [protocol, `{"${name}":null}`, { invalid: null }],
      )
    }
  // these are the upstream's where it runs tools, and elsewhere may be anything, such as the form of a file
  for (const name of ['container', 'preset', 'data_sources']) {
    for (const protocol of ['images', 'embeddings', 'rerank', 'moderations', 'speech'] as const)
      rows.push([protocol, `{"${name}":"wav"}`, { invalid: null }])
    for (const protocol of ['messages', 'chat', 'responses'] as const)
      rows.push([protocol, `{"${name}":"wav"}`, { invalid: name }])
  }
  for (const protocol of ['messages', 'chat', 'responses', 'images', 'embeddings'] as const)
    for (const name of ['providerOptions', 'provider_options'])
      rows.push(
        [protocol, `{"${name}":{"gateway":{"models":["dear"]}}}`, { invalid: 'providerOptions' }],
        [protocol, `{"${name}":{"gateway":{"order":["a"]},"other":{"models":["x"]}}}`, { invalid: null }],
      )
  return rows
}

/** What an upstream may write that is no part of the answer. */
const unseen = (): [Protocol, string, Partial<Facts>][] => [
  ['chat', '{"max_tokens":10,"prediction":null}', { writesUnseen: false, maxOutput: 10 }],
  ['chat', '{"max_tokens":10,"prediction":"text"}', { writesUnseen: true, maxOutput: 16 }],
  ['chat', '{"max_tokens":10,"prediction":{}}', { writesUnseen: true, maxOutput: 12 }],
  ['chat', '{"n":2,"best_of":null}', { writesUnseen: false, n: 2 }],
  ['chat', '{"n":2,"best_of":1}', { writesUnseen: false, n: 2 }],
  ['chat', '{"best_of":2,"n":2}', { writesUnseen: false, n: 2 }],
  ['chat', '{"best_of":3,"n":2}', { writesUnseen: true, n: 3 }],
  ['chat', '{"n":2,"extra_body":{"best_of":3}}', { writesUnseen: true, n: 3 }],
  ['chat', '{"best_of":[2]}', { writesUnseen: true, n: 1e6 }],
]

t.test('what is no JSON object', async t => {
  const rows = [
    '',
    ' ',
    '{',
    '[]',
    '"x"',
    'null',
    '5',
    '{"a":1,}',
    '{"a" 1}',
    '{a:1}',
    '{"a":tru}',
    '{"a":[1}',
    '{"a":01}',
    '{"a":1} x',
    '{}{}',
    '{"a":"x',
    '{"model":"b"',
    Buffer.from([0xff, 0xfe, 0]),
  ]
  for (const body of rows) {
    t.equal(of(body), null, String(body))
    t.equal(bytewise(body), null, String(body))
  }
  for (const body of ['{}', ' {"a":1}\r\n', '{"a":{"b":[1,{"c":"}"}]}}', '{"a":"\\""}', '{"":null}'])
    t.ok(of(body) && bytewise(body), body)
})

t.test('facts', async t => {
  const rows: [Protocol, string, Partial<Facts>][] = [
    ['chat', '{"mod\\u0065l":"\\u0061"}', { model: 'a', invalid: null }],
    ['chat', '{"x":{"model":"inner"},"model":"m"}', { model: 'm', invalid: null }],
    ['chat', '{"model":5}', { model: null, modelIsString: false }],
    ['chat', '{"model":null}', { model: null, modelSpan: null }],
    ['chat', `{"model":"${'m'.repeat(60_000)}"}`, { model: 'm'.repeat(60_000), modelIsString: true }],
    ['chat', `{"model":"${'m'.repeat(70_000)}"}`, { model: null, modelIsString: false }],
    ['chat', '{"messages":"\\"model\\":\\"x\\""}', { model: null, modelSpan: null }],
    ['chat', '{"stream":true}', { stream: true }],
    ['chat', '{"stream":null}', { stream: false, invalid: null }],
    ['chat', '{"stream_options":{"include_usage":true}}', { includeUsage: true }],
    ['responses', '{"background":true}', { background: true }],
    ['messages', '{"system":[{"cache_control":{"type":"ephemeral"}}]}', { cacheTtl: '5m' }],
    ['messages', '{"tools":[{"cache_control":{"type":"ephemeral","ttl":"1h"}}]}', { cacheTtl: '1h' }],
    ['messages', '{"system":"\\"cache_control\\""}', { cacheTtl: null }],
    ['messages', '{"system":[{"cache_control":null}]}', { cacheTtl: null }],
    ['messages', '{"cache_control":{"type":"ephemeral","ttl":"1h"}}', { cacheTtl: '1h' }],
    ['messages', '{"system":[{"text":"cache_control"},{"text":"1h"}]}', { cacheTtl: null }],
    ['messages', '{"messages":[{"content":[{"input":{"cache_control":{}}}]}]}', { cacheTtl: null }],
    ['messages', '{"system":[{"cache_control":{"ttl":"2h"}}]}', { cacheTtl: '1h' }],
    ['messages', '{"tools":[{"cache_control":{"ttl":"1h"}}],"system":[{"cache_control":{}}]}', { cacheTtl: '1h' }],
    ['responses', '{"prompt_cache_options":{"ttl":"12h"}}', { cacheTtl: '1h' }],
    ['chat', '{"prompt_cache_retention":"in_memory"}', { cacheTtl: null }],
    ['messages', '{"metadata":{"user_id":"u"}}', { userId: 'u' }],
    ['chat', '{"prompt_cache_key":"k","metadata":{"user_id":"u","User_Id":"x"}}', { promptCacheKey: 'k', userId: 'u' }],
  ]
  for (const [protocol, body, want] of rows) {
    t.match(of(body, protocol), want, body.slice(0, 80))
    t.same(bytewise(body, protocol), of(body, protocol), 'in any chunking')
  }
})

t.test('input that is all a request costs', async t => {
  const picture = `data:image/png;base64,${'A'.repeat(4000)}`
  const bare = 'iVBORw0KGgo'.repeat(400)
  const rows: [Protocol, object, Partial<Prompt>, textBytes: number][] = [
    ['embeddings', { model: 'm', input: 'ten chars.' }, { tokens: 0 }, 34],
    ['embeddings', { model: 'm', input: ['one', 'two'] }, { tokens: 0 }, 35],
    ['embeddings', { model: 'm', input: [1, 20, 30000] }, { tokens: 3 }, 23],
    ['embeddings', { model: 'm', input: [[1, 20], [300], []] }, { tokens: 3 }, 30],
    ['embeddings', { model: 'm', input: ['1 2 3', [4]] }, { tokens: 1 }, 33],
    ['embeddings', { model: 'm', input: [{ text: 'x' }, { image: bare }] }, { pictures: 1 }, 49],
    ['embeddings', { model: 'm', input: [{ image: picture }] }, { pictures: 1 }, 58],
    ['embeddings', { model: 'm', input: [{ image: 'https://x/y.png' }] }, { remotePictures: 1, pictures: 0 }, 51],
    ['rerank', { model: 'm', query: 'abc', documents: ['one'] }, {}, 47],
    ['rerank', { model: 'm', query: 'abc', documents: ['one', 'two', { text: 'x' }] }, {}, 66 + 2 * 5],
    ['rerank', { documents: ['one', 'two'], query: 'abc', model: 'm' }, {}, 53 + 5],
    ['moderations', { model: 'm', input: [{ type: 'image_url', image_url: { url: picture } }] }, { pictures: 1 }, 89],
  ]
  for (const [protocol, request, prompt, textBytes] of rows) {
    const text = JSON.stringify(request)
    const facts = of(text, protocol)
    t.match(
      facts,
      { model: 'm', stream: false, maxOutput: 0, invalid: null, prompt: { ...prompt, textBytes } },
      text.slice(0, 90),
    )
    t.same(bytewise(text, protocol), facts, 'in any chunking')
  }
  for (const protocol of ['embeddings', 'rerank', 'moderations'] as const) {
    t.match(of('{"model":"m","model":"n"}', protocol), { invalid: 'model' })
    t.match(of('{"Input":"x"}', 'embeddings'), { invalid: 'input' })
  }
  const most = of(
    `{"model":"m","query":${JSON.stringify('q'.repeat(1e6))},"documents":[${'"",'.repeat(99_999)}""]}`,
    'rerank',
  )
  t.ok((most?.prompt.textBytes ?? 0) > 9e10, 'a long query before many documents is held as what it costs')
})

t.test('names of the model that a body repeats', async t => {
  const request = (model: unknown) => ({
    model,
    content: { parts: [{ text: 'x' }, { inlineData: { mimeType: 'image/png', data: 'A'.repeat(400) } }] },
  })
  const rows: [body: object, facts: object, places: number][] = [
    [{ content: { parts: [] } }, { model: null, invalid: null, maxOutput: 0 }, 0],
    [request('models/m'), { model: 'models/m', invalid: null, prompt: { pictures: 1 } }, 1],
    [
      { requests: [request('models/m'), request('models/m')] },
      { model: 'models/m', invalid: null, prompt: { pictures: 2 } },
      2,
    ],
    [{ requests: [request('models/m'), request('models/dearer')] }, { invalid: 'model' }, 1],
    [{ requests: [request('models/m'), request('m')] }, { invalid: 'model' }, 1],
    [{ requests: [request(7)] }, { invalid: 'model' }, 0],
    [{ requests: [{ Model: 'models/dearer' }] }, { invalid: 'model' }, 0],
    [{ model: 'models/dearer', requests: [request('models/m')] }, { invalid: 'model' }, 1],
    [{ requests: Array.from({ length: 3000 }, () => ({ model: 'm' })) }, { invalid: 'model' }, 2048],
  ]
  for (const [body, want, places] of rows) {
    const text = JSON.stringify(body)
    const facts = of(text, 'nativeEmbeddings')
    t.match(facts, want, text.slice(0, 100))
    t.equal(facts?.repeatedModels.length, places)
    for (const { start, end } of facts?.repeatedModels ?? []) t.match(text.slice(start, end), /^"(models\/)?\w+"$/)
  }
})

t.test('what is asked: tiers, and how pictures are to be', async t => {
  const tiers = (service: string | null, speed: string | null = null, geo: string | null = null) => ({
    tiers: { service, speed, geo },
    invalid: null,
  })
  const picture = (size: string | null, quality: string | null = null) => ({
    picture: { size, quality },
    invalid: null,
  })
  const tools = (...more: object[]) =>
    JSON.stringify({ tools: [{ type: 'function' }, ...more.map(one => ({ type: 'image_generation', ...one }))] })
  const refused = (invalid: string) => ({ invalid })
  const rows: [Protocol, string, object][] = [
    ['chat', '{"service_tier":"Priority"}', tiers('priority')],
    ['responses', '{"service_tier":"flex"}', tiers('flex')],
    ['chat', '{"providerOptions":{"openai":{"serviceTier":"priority"}}}', tiers('priority')],
    ['chat', '{"provider_options":{"anthropic":{"speed":"fast","inference_geo":"us"}}}', tiers(null, 'fast', 'us')],
    ['embeddings', '{"providerOptions":{"google":{"service_tier":{}}}}', refused('service_tier')],
    ['responses', '{"service_tier":"auto"}', tiers(null)],
    ['responses', '{"service_tier":null}', tiers(null)],
    [
      'messages',
      '{"service_tier":"standard_only","speed":"fast","inference_geo":"us"}',
      tiers('standard_only', 'fast', 'us'),
    ],
    ['messages', '{"speed":"fast","fallbacks":[{"model":"b","speed":"standard"}]}', tiers(null, 'fast')],
    ['messages', '{"speed":"standard","fallbacks":[{"model":"b","speed":"fast"}]}', tiers(null, 'fast')],
    ['messages', '{"speed":"fast","fallbacks":[{"model":"b","speed":"faster"}]}', refused('speed')],
    ['generate', '{"serviceTier":"PRIORITY"}', tiers('priority')],
    ['generate', '{"service_tier":"SERVICE_TIER_UNSPECIFIED"}', tiers(null)],
    ['chat', '{"service_tier":5}', refused('service_tier')],
    ...otherModels(),
    ...unseen(),
    ['chat', '{"data_sources":[{"type":"azure_search"}]}', refused('data_sources')],
    ['chat', '{"data_sources":[]}', { invalid: null }],
    ['chat', '{"service_tier":""}', refused('service_tier')],
    ['chat', '{"service_tier":{}}', refused('service_tier')],
    ['chat', `{"service_tier":"${'x'.repeat(65)}"}`, refused('service_tier')],
    ['chat', '{"messages":[{"service_tier":"priority"}]}', tiers(null)],
    ['images', '{"size":"1024x1024","quality":"HIGH"}', picture('1024x1024', 'high')],
    ['images', '{"image_size":"512x512"}', picture('512x512')],
    ['images', '{"size":"1024x1024","resolution":"2k"}', picture('auto')],
    ['images', '{"size":"2k","resolution":"2K"}', picture('2k')],
    ['images', '{"size":{"width":5}}', picture('auto')],
    ['images', '{"prompt":"size"}', picture(null)],
    ['responses', tools({ size: '1024x1024', quality: 'low' }), picture('1024x1024', 'low')],
    ['responses', tools({ size: '1024x1024', quality: 'low' }, { size: '1024x1024' }), picture('1024x1024')],
    ['responses', tools({ size: '1024x1024' }, {}), picture(null)],
    ['responses', tools({}, { size: '1024x1024' }), picture(null)],
    ['responses', tools({ size: '1x1' }, { size: '2x2' }, { size: '1x1' }), picture(null)],
    ['responses', '{"tools":[{"type":"web_search","size":"1x1"},{"type":"image_generation"}]}', picture(null)],
    ['generate', '{"generationConfig":{"imageConfig":{"imageSize":"4K"}}}', picture('4k')],
  ]
  for (const [protocol, body, want] of rows) {
    t.match(of(body, protocol), want, `${protocol}: ${body.slice(0, 100)}`)
    t.same(bytewise(body, protocol), of(body, protocol), 'in any chunking')
  }
})

t.test('what is asked: searches, and what the answer may hold', async t => {
  const searches = (uses: number, unlimited = 0) => ({ searches: { uses, unlimited }, invalid: null })
  const holds = (...kinds: ('sound' | 'pictures')[]) => ({
    answersSound: kinds.includes('sound'),
    answersPictures: kinds.includes('pictures'),
    invalid: null,
  })
  const tools = (...all: object[]) => JSON.stringify({ tools: all })
  const search = (more: object = {}) => ({ type: 'web_search_20250305', name: 'web_search', ...more })
  const config = (members: string) => `{"generationConfig":{${members}}}`
  const rows: [Protocol, string, object][] = [
    ['messages', '{}', searches(0)],
    ['messages', tools(search()), searches(0, 1)],
    ['messages', tools(search({ max_uses: 3 })), searches(3)],
    ['messages', tools(search({ max_uses: '3' })), searches(3)],
    ['messages', tools(search({ max_uses: 2.5 })), searches(3)],
    ['messages', tools(search({ max_uses: 0 })), searches(0, 1)],
    ['messages', tools(search({ max_uses: null })), searches(0, 1)],
    ['messages', tools(search({ max_uses: 'few' })), searches(1e9)],
    ['messages', tools(search({ max_uses: -1 })), searches(1e9)],
    ['messages', tools(search({ max_uses: 3 }), search({ max_uses: 4 }), search()), searches(7, 1)],
    ['messages', '{"tools":[{"max_uses":2,"type":"web\\u005fsearch_20250305"}]}', searches(2)],
    ['messages', '{"tools":[{"max\\u005fuses":2,"type":"web_search_29990101"}]}', searches(2)],
    ['messages', tools({ type: null }, { type: 'x'.repeat(100) }, { type: 'a_tool_of_tomorrow' }), searches(0)],
    ['messages', tools({ name: 'mine' }, { type: 'custom' }, { type: 'bash_20250124' }), searches(0)],
    ['messages', tools({ type: 'web_fetch_20250910' }, { type: 'code_execution_20250825' }), searches(0)],
    ['messages', '{"mcp_servers":[{"name":"m"}]}', searches(0)],
    ['messages', '{"messages":[{"content":[{"input":{"tools":[{"type":"web_search_20250305"}]}}]}]}', searches(0)],
    ['responses', '{}', searches(0)],
    ['responses', tools({ type: 'web_search' }), searches(0, 1)],
    ['responses', tools({ type: 'web_search_preview_2025_03_11' }, { type: 'web_search' }), searches(0, 2)],
    ['responses', tools({ type: 'function' }, { type: 'code_interpreter' }, { type: 'mcp' }), searches(0)],
    ['responses', '{"max_tool_calls":4,"tools":[{"type":"web_search"},{"type":"web_search"}]}', searches(4)],
    ['responses', '{"tools":[{"type":"web_search"}],"max_tool_calls":"4"}', searches(4)],
    ['responses', '{"tools":[{"type":"web_search"}],"max_tool_calls":0}', searches(0, 1)],
    ['responses', '{"tools":[{"type":"web_search"}],"max_tool_calls":[]}', searches(1e9)],
    ['responses', '{"tools":[{"type":"mcp"}],"max_tool_calls":4}', searches(0)],
    ['responses', '{"input":[{"tools":[{"type":"web_search"}]}]}', searches(0, 1)],
    ['responses', '{"plugins":[{"id":"web"}]}', searches(1)],
    ['chat', '{}', searches(0)],
    ['chat', '{"web_search_options":{}}', searches(0, 1)],
    ['chat', '{"web_search_options":{},"enable_search":true}', searches(0, 2)],
    ['chat', '{"search_parameters":{"mode":"off"},"enable_search":false}', searches(0)],
    ['chat', tools({ type: 'web_search' }, { type: 'web_search' }, { type: 'function' }), searches(0, 2)],
    ['generate', '{}', searches(0)],
    ['generate', tools({ googleSearch: {} }), searches(0, 1)],
    ['generate', tools({ google_search: {}, googleSearchRetrieval: {} }, { GoogleSearch: {} }), searches(0, 2)],
    ['generate', tools({ functionDeclarations: [{}] }, { url_context: {}, codeExecution: {} }), searches(0)],
    ['messages', '{"modalities":["audio"]}', holds()],
    ['chat', '{}', holds('sound', 'pictures')],
    ['chat', '{"modalities":["text"]}', holds()],
    ['chat', '{"modalities":["text","audio"],"audio":{"voice":"alloy"}}', holds('sound')],
    ['chat', '{"modalities":["image","te\\u0078t"]}', holds('pictures')],
    ['chat', '{"audio":{"voice":"alloy"},"modalities":["text"]}', holds('sound')],
    ['chat', '{"audio":null,"modalities":["text"]}', holds()],
    ['chat', '{"modalities":null}', holds('sound', 'pictures')],
    ['chat', '{"modalities":[]}', holds('sound', 'pictures')],
    ['chat', '{"modalities":"text"}', holds('sound', 'pictures')],
    ['chat', '{"modalities":{"text":true}}', holds('sound', 'pictures')],
    ['chat', '{"modalities":["text",{}]}', holds('sound', 'pictures')],
    ['chat', '{"modalities":["text",["text"]]}', holds('sound', 'pictures')],
    ['chat', '{"modalities":["smell"]}', holds('sound', 'pictures')],
    ['chat', '{"modalities":["text"],"Modalities":["audio"]}', { invalid: 'modalities' }],
    ['chat', '{"messages":[{"audio":{},"modalities":["audio"]}],"modalities":["text"]}', holds()],
    ['responses', '{}', holds('sound')],
    ['responses', '{"modalities":["text"]}', holds()],
    ['responses', '{"modalities":["text","image"]}', holds('pictures')],
    ['responses', '{"tools":[{"type":"image_generation"}],"modalities":["text"]}', holds('pictures')],
    ['responses', '{"tools":[{"type":5}],"modalities":["text"]}', holds('pictures')],
    ['generate', '{}', holds('sound', 'pictures')],
    ['generate', config('"responseModalities":["Text"]'), holds()],
    ['generate', config('"response_modalities":["TEXT","IMAGE"]'), holds('pictures')],
    ['generate', config('"responseModalities":["AUDIO"]'), holds('sound')],
    ['generate', config('"responseModalities":["TEXT",3]'), holds('sound', 'pictures')],
    ['generate', config('"responseModalities":["MODALITY_UNSPECIFIED"]'), holds('sound', 'pictures')],
    ['generate', config('"speech_config":{},"responseModalities":["TEXT"]'), holds('sound')],
    ['generate', config('"responseModalities":["TEXT"],"imageConfig":{}'), holds('pictures')],
    ['generate', config('"responseModalities":["TEXT"],"response_modalities":[]'), { invalid: 'responseModalities' }],
  ]
  for (const [protocol, body, want] of rows) {
    t.match(of(body, protocol), want, `${protocol}: ${body.slice(0, 100)}`)
    t.same(bytewise(body, protocol), of(body, protocol), 'in any chunking')
  }
})

t.test('depth costs nothing and crashes nothing', async t => {
  const deep = 200_000
  t.equal(of(`{"messages":${'['.repeat(deep)},"model":"m"}`), null)
  t.equal(of(`{"messages":${'['.repeat(deep)}${']'.repeat(deep)},"model":"m"}`)?.model, 'm')
  t.equal(of(`{"a":${'[{"b":'.repeat(deep)}`), null)
})

const NAMES = ['model', 'stream', 'max_tokens', 'n', 'stream_options', 'messages']

/** A body with the members that matter here and there, now and then one of them twice. */
function body(random: Random): { source: string; twice: boolean } {
  const members: [string, unknown][] = []
  const add = (name: string, value: () => unknown) => {
    for (let i = random.pick([0, 1, 1, 1, 1, 1, 1, 2]); i > 0; i--)
      members.push([name, random.next() < 0.8 ? value() : json(random, 2)])
  }
  add('model', () => text(random))
  add('stream', () => random.next() < 0.5)
  add('max_tokens', () => random.int(0, 5000))
  add('n', () => random.int(1, 9))
  add('stream_options', () =>
    random.pick([{}, null, { include_usage: true }, { include_usage: false, other: 1 }, { x: [1] }]),
  )
  add('messages', () => json(random, 5))
  for (let i = random.int(0, 3); i > 0; i--) members.push([key(random), json(random)])
  members.sort(() => random.next() - 0.5)
  const named = members.map(([k]) => k).filter(k => NAMES.includes(k))
  const source = `${random.pick(['', ' ', '\r\n'])}{${members.map(([k, v]) => `${JSON.stringify(k)}${random.pick(['', ' '])}:${jsonText(random, v)}`).join(' ,')}}\n`
  return { source, twice: new Set(named).size < named.length }
}

t.test('chunks that stand inside of one string', async t => {
  const long = 'x'.repeat(30)
  const rows: [pieces: string[], facts: object][] = [
    [['{"messages":[{"content":"', long, '"}],"model":"m"}'], { model: 'm' }],
    [['{"messages":[{"con', 'tent":"', long, '\\', '"', long, '"}],"model":"m"}'], { model: 'm' }],
    [['{"model":"', long, long, '"}'], { model: long + long }],
    [['{"a":["', `${long}\\`, '"z","1h"],"model":"m"}'], { model: 'm' }],
    [['{"a":"', `${long}\\\\`, '","model":"m"}'], { model: 'm' }],
    [['{"a":["', '\\'.repeat(31), '\\', '\\'.repeat(31), '"","b"],"model":"m"}'], { model: 'm' }],
  ]
  for (const [pieces, facts] of rows) t.match(scan(pieces.map(piece => Buffer.from(piece))), facts, pieces.join('|'))
})

t.test('long strings end where they end, however many quotes and backslashes stand in them', async t => {
  const random = seeded(t)
  const pieces = ['"', '"', '\\', '\\\\', 'x', ' and so on, for a while', '\n', '"\\', '\\"', '好']
  for (let round = 0; round < 2000; round++) {
    const content = Array.from({ length: random.int(0, 120) }, () => random.pick(pieces)).join('')
    const source = JSON.stringify({ messages: [{ content }, content], user: content, model: 'm' })
    const facts = scan(cut(random, Buffer.from(source), random.pick([20, 400, 100_000])))
    if (facts?.model !== 'm') return t.fail(source)
    const { start, end } = facts.modelSpan as Span
    if (Buffer.from(source).toString('utf8', start, end) !== '"m"') return t.fail(source)
  }
})

/** All that a scanner tells of a document that comes in these chunks. */
function told(chunks: Buffer[]): unknown[] {
  const all: unknown[] = []
  const scanner = new JsonScanner({
    wants: key => (key.length % 3) * 200,
    member: (...member) => void all.push(member),
    enter: key => key.length % 4 === 1,
    leave: end => void all.push(end),
  })
  for (const chunk of chunks) scanner.feed(chunk)
  return [...all, scanner.complete]
}

t.test('a long chunk is read like single bytes, whatever stands where its text is cut', async t => {
  const random = seeded(t)
  let members = 0
  for (let round = 0; round < 200; round++) {
    const filler = '"a":[0],'.repeat(random.int(380, 520))
    const source = `{${filler}"cc":["${'x'.repeat(random.int(0, 300))}",1],"e":${jsonText(random, json(random, 4))},"f":${jsonText(random, json(random, 4))}}`
    const bytes = Buffer.from(source)
    const whole = told([bytes])
    members += whole.length
    if (!isDeepStrictEqual(whole, told([...bytes].map(b => Buffer.of(b))))) return t.fail(source)
  }
  t.ok(members > 200 * 380)
})

const mostOf = (said: unknown): number | null => {
  if (said === undefined || said === null) return null
  return typeof said === 'number' && said >= 0 ? Math.min(1e9, Math.ceil(said)) || null : 1e9
}

t.test('facts are those of JSON.parse, whatever the document and the chunks', async t => {
  const random = seeded(t)
  let compared = 0
  for (let i = 0; i < 3000; i++) {
    const { source, twice } = body(random)
    const parsed = JSON.parse(source)
    const facts = scan(cut(random, Buffer.from(source)))
    if (facts === null) {
      t.fail(`refused: ${source}`)
      continue
    }
    const { model, stream, includeUsage, maxOutput, invalid } = facts
    const odd = 'stream' in parsed && typeof parsed.stream !== 'boolean' && parsed.stream !== null
    if ((invalid !== null) !== (odd || twice)) t.fail(`${invalid}: ${source}`)
    if (invalid !== null) continue
    compared++
    const want = {
      model:
        typeof parsed.model === 'string' && Buffer.byteLength(JSON.stringify(parsed.model)) < 1000
          ? parsed.model
          : facts.model,
      stream: parsed.stream === true,
      includeUsage: typeof parsed.stream_options === 'object' && parsed.stream_options?.include_usage === true,
      maxOutput: mostOf(parsed.max_tokens),
    }
    if (JSON.stringify({ model, stream, includeUsage, maxOutput }) !== JSON.stringify(want))
      t.same({ model, stream, includeUsage, maxOutput }, want, source)
  }
  t.ok(compared > 1000)
})

t.test('broken documents are refused or understood, and never throw', async t => {
  const random = seeded(t)
  for (let i = 0; i < 3000; i++) {
    const bytes = Buffer.from(body(random).source)
    for (let n = random.int(1, 3); n > 0; n--)
      bytes[random.int(0, bytes.length - 1)] = random.pick([
        0, 0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a, 0xff, 0x20,
      ])
    const facts = scan(cut(random, bytes))
    let object = false
    try {
      const value = JSON.parse(bytes.toString())
      object = typeof value === 'object' && value !== null && !Array.isArray(value)
    } catch {}
    // the scan may take what JSON.parse refuses deep inside; never the other way round
    if (object && facts === null) t.fail(`refused: ${bytes}`)
  }
  t.pass('3000 documents')
})

t.test('edits change what they should and nothing else', async t => {
  const random = seeded(t)
  let edited = 0
  for (let i = 0; i < 3000; i++) {
    const source = Buffer.from(body(random).source)
    const facts = scan([source])
    if (facts === null || facts.invalid !== null) continue
    const parsed = JSON.parse(source.toString())
    if (facts.modelSpan !== null) {
      const { chunks, length } = editBody(cut(random, source), [mapModel(facts, 'up/"x"')])
      const out = Buffer.concat(chunks)
      t.equal(out.length, length)
      if (JSON.stringify(JSON.parse(out.toString())) !== JSON.stringify({ ...parsed, model: 'up/"x"' }))
        t.fail(`model: ${source}`)
      edited++
    }
    if (facts.stream && !facts.includeUsage) {
      const out = Buffer.concat(editBody(cut(random, source), [askForUsage(facts)]).chunks)
      const after = JSON.parse(out.toString())
      const { stream_options: asked, ...rest } = after
      const { stream_options: before, ...others } = parsed
      if (asked?.include_usage !== true) t.fail(`not asked: ${source}`)
      if (JSON.stringify(Object.entries(rest).sort()) !== JSON.stringify(Object.entries(others).sort()))
        t.fail(`moved: ${source}`)
      if (typeof before === 'object' && before !== null && !Array.isArray(before)) {
        if (!isDeepStrictEqual(asked, { ...before, include_usage: true }))
          t.fail(`options: ${JSON.stringify([before, asked])}`)
      }
      let head = 0
      while (head < source.length && source[head] === out[head]) head++
      let tail = 0
      while (tail < source.length - head && source[source.length - 1 - tail] === out[out.length - 1 - tail]) tail++
      const replaced = facts.streamOptions === null ? 0 : facts.streamOptions.span.end - facts.streamOptions.span.start
      if (head + tail < source.length - replaced) t.fail(`more than one edit: ${source}`)
      edited++
    }
  }
  t.ok(edited > 500)
})
