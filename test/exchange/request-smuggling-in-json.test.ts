/**
 * Deciding fields that stood twice or in another case went upstream unchanged, where a reader that takes the first, or is
 * blind to case, took another model or another maximum than we did; a stream that was no boolean, and a body in another
 * charset, went up too. And fields that name what the upstream keeps opened one customer's things to another, because all
 * share its account.
 */
// The bug behind these rows: bodies that two readers take differently.
import t from 'tap'
import { HEADERS, MODEL, open, PATHS } from './support/gateway.ts'
import type { Talking } from '../support/talking.ts'

const M = `"model":"${MODEL}"`

async function scene(t: Parameters<typeof open>[0]) {
  const price = { input: 2, output: 8, container: { '1g': 0 } }
  const s = await open(t, { model: { price } })
  s.at('a').script = call => call.whole(400, { error: { message: 'from upstream' } })
  const ask = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const client = s.ask({ path, headers: { ...HEADERS, ...headers }, body })
    await client.end()
    return client.text
  }
  return { s, ask }
}

/** Field that is named in the refusal; null = the body goes upstream. */
type Row = [Talking, string, string | null]

const TWICE: Row[] = [
  ['chat', `{"model":"no-such",${M}}`, 'model'],
  ['chat', `{${M},"Model":"x"}`, 'model'],
  ['chat', `{"MODEL":"x",${M}}`, 'model'],
  ['chat', `{${M},"mod\\u0065l":"x"}`, 'model'],
  ['chat', `{${M},"max_to\u212Aens":5}`, 'max_tokens'],
  ['chat', `{${M},"max_token\u017F":5}`, 'max_tokens'],
  ['chat', `{${M},"max_to\\u212aens":5}`, 'max_tokens'],
  ['chat', `{${M},"\u0130NPUT":5}`, null],
  ['chat', `{${M},"max_tokens":5,"max_tokens":50000}`, 'max_tokens'],
  ['chat', `{${M},"MAX_TOKENS":5}`, 'max_tokens'],
  ['chat', `{${M},"Max_Completion_Tokens":5}`, 'max_completion_tokens'],
  ['chat', `{${M},"N":9}`, 'n'],
  ['chat', `{${M},"n":1,"n":9}`, 'n'],
  ['chat', `{${M},"stream":true,"stream":false}`, 'stream'],
  ['chat', `{${M},"Stream":true}`, 'stream'],
  ['chat', `{${M},"stream_options":{"include_usage":true},"stream_options":null}`, 'stream_options'],
  ['chat', `{${M},"stream_options":{"include_usage":true,"include_usage":false}}`, 'include_usage'],
  ['chat', `{${M},"stream_options":{"Include_Usage":false}}`, 'include_usage'],
  ['chat', `{${M},"messages":[],"Messages":[{"content":[]}]}`, 'messages'],
  ['chat', `{${M},"messages":[{"content":[{"image_url":{"url":"x","URL":"y"}}]}]}`, 'url'],
  ['messages', `{${M},"max_tokens":1,"Max_Tokens":5}`, 'max_tokens'],
  ['messages', `{${M},"system":[{"Cache_Control":{"type":"ephemeral","ttl":"1h"}}]}`, 'cache_control'],
  ['messages', `{${M},"tools":[{"type":"web_search_20250305","max_uses":1,"max_uses":100}]}`, 'max_uses'],
  ['responses', `{${M},"max_output_tokens":1,"max_output_tokens":"5"}`, 'max_output_tokens'],
  ['responses', `{${M},"Previous_Response_Id":"x"}`, 'previous_response_id'],
  ['generate', '{"generationConfig":{},"generation_config":{}}', 'generationConfig'],
  ['generate', '{"generationconfig":{}}', 'generationConfig'],
  ['generate', '{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":9}}', 'maxOutputTokens'],
  ['generate', '{"generationConfig":{"MaxOutputTokens":1}}', 'maxOutputTokens'],
  ['generate', '{"model":"other"}', 'model'],
  ['generate', '{"model":5}', 'model'],
  ['generate', `{"model":"${MODEL}"}`, null],
  ['generate', `{"model":"models/${MODEL}"}`, null],
  ['images', `{${M},"n":1,"N":10}`, 'n'],
  ['chat', `{${M},"metadata":{"a":1,"A":2},"tools":[{"function":{"parameters":{"model":1,"Model":2}}}]}`, null],
  ['chat', `{${M},"messages":[{"role":"user","content":"\\"Model\\": \\"x\\""}]}`, null],
]

const NO_BOOLEAN: Row[] = (['messages', 'chat', 'responses', 'images'] as const).flatMap(protocol =>
  ['"true"', '1', '{}', '[]', '""', `"${'x'.repeat(100)}"`].map(
    value => [protocol, `{${M},"stream":${value}}`, 'stream'] as Row,
  ),
)

const STORED: Row[] = [
  ['responses', `{${M},"conversation":"conv_1"}`, 'conversation'],
  ['responses', `{${M},"conversation":{"id":"conv_1"}}`, 'conversation'],
  ['responses', `{${M},"conversation":null}`, null],
  ['responses', `{${M},"prompt":{"id":"pmpt_1"}}`, 'prompt'],
  ['responses', `{${M},"input":[{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}]}`, 'file_id'],
  ['responses', `{${M},"input":[{"role":"user","content":[{"type":"input_image","file_id":"file_1"}]}]}`, 'file_id'],
  ['responses', `{${M},"input":[{"role":"user","content":[{"type":"input_image","file_id":null}]}]}`, null],
  ['responses', `{${M},"input":[{"type":"item_reference","id":"msg_1"}]}`, 'item_reference (store: false)'],
  ['responses', `{${M},"input":[{"id":"msg_1"}]}`, 'item_reference (store: false)'],
  ['responses', `{${M},"input":[{"type":"message","id":"msg_1","role":"assistant","content":"x"}]}`, null],
  ['responses', `{${M},"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}`, 'vector_store_ids'],
  ['responses', `{${M},"tools":[{"type":"code_interpreter","container":"cntr_1"}]}`, 'container'],
  ['responses', `{${M},"tools":[{"type":"code_interpreter","container":{"id":"cntr_1"}}]}`, 'container'],
  [
    'responses',
    `{${M},"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["f"]}}]}`,
    'file_ids',
  ],
  ['responses', `{${M},"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":[]}}]}`, null],
  ['responses', `{${M},"tools":[{"type":"shell","environment":{"container_id":"cntr_1"}}]}`, 'container_id'],
  ['responses', `{${M},"tools":[{"type":"image_generation","input_image_mask":{"file_id":"f"}}]}`, 'file_id'],
  ['messages', `{${M},"container":"cntr_1"}`, 'container'],
  ['messages', `{${M},"container":{"id":"cntr_1"}}`, 'container'],
  ['messages', `{${M},"container":{"skills":[{"type":"anthropic","skill_id":"pdf"}]}}`, null],
  ['messages', `{${M},"container":null}`, null],
  ['messages', `{${M},"thread":{"type":"continue","previous_message_id":"msg_1"}}`, 'thread'],
  ['messages', `{${M},"messages":[{"content":[{"type":"image","source":{"type":"file","file_id":"f"}}]}]}`, 'file_id'],
  ['messages', `{${M},"messages":[{"content":[{"type":"container_upload","file_id":"f"}]}]}`, 'file_id'],
  ['chat', `{${M},"messages":[{"content":[{"type":"file","file":{"file_id":"f"}}]}]}`, 'file_id'],
  ['chat', `{${M},"messages":[{"role":"assistant","audio":{"id":"audio_1"}}]}`, 'audio'],
  ['generate', '{"cachedContent":"cachedContents/1"}', 'cachedContent'],
  ['generate', '{"cached_content":"cachedContents/1"}', 'cachedContent'],
  ['generate', '{"cachedContent":""}', null],
  ['generate', '{"contents":[{"parts":[{"fileData":{"fileUri":"gs://bucket/x"}}]}]}', 'fileUri'],
  [
    'generate',
    '{"contents":[{"parts":[{"file_data":{"file_uri":"https://generativelanguage.googleapis.com/v1beta/files/x"}}]}]}',
    'fileUri',
  ],
  [
    'generate',
    '{"contents":[{"parts":[{"fileData":{"fileUri":"https://Generative%6canguage.googleapis.com/x"}}]}]}',
    'fileUri',
  ],
  ['generate', '{"contents":[{"parts":[{"fileData":{"fileUri":"https://example.test/x"}}]}]}', null],
  ['generate', '{"tools":[{"fileSearch":{"fileSearchStoreNames":["x"]}}]}', 'fileSearch'],
  ['generate', '{"tools":[{"retrieval":{"vertexAiSearch":{}}}]}', 'retrieval'],
]

const DEARER: Row[] = [
  ['chat', `{${M},"service_tier":"priority"}`, 'service_tier'],
  ['chat', `{${M},"service_tier":5}`, 'service_tier'],
  ['chat', `{${M},"service_tier":"auto"}`, null],
  ['chat', `{${M},"service_tier":"flex"}`, null],
  ['chat', `{${M},"service_tier":null}`, null],
  ['responses', `{${M},"service_tier":"fast"}`, 'service_tier'],
  ['messages', `{${M},"service_tier":"standard_only"}`, null],
  ['messages', `{${M},"speed":"fast"}`, 'speed'],
  ['messages', `{${M},"speed":"standard"}`, null],
  ['messages', `{${M},"inference_geo":"us"}`, 'inference_geo'],
  ['messages', `{${M},"fallbacks":[{"model":"x","speed":"fast"}]}`, 'speed'],
  ['generate', '{"serviceTier":"priority"}', 'service_tier'],
  ['generate', '{"service_tier":3}', 'serviceTier'],
  ['generate', '{"serviceTier":"flex"}', null],
]

for (const [what, rows] of Object.entries({ TWICE, NO_BOOLEAN, STORED, DEARER })) {
  t.test(what.toLowerCase().replace('_', ' '), async t => {
    const { s, ask } = await scene(t)
    for (const [protocol, body, field] of rows) {
      const before = s.at('a').calls.length
      const said = await ask(PATHS[protocol], body)
      if (field === null) t.match(said, 'from upstream', `${protocol} ${body}`)
      else t.match(said, `请求体字段无效:${field} (request id`, `${protocol} ${body}`)
      t.equal(s.at('a').calls.length, before + (field === null ? 1 : 0))
    }
  })
}

t.test('a charset that is not UTF-8, and the bytes of one', async t => {
  const { s, ask } = await scene(t)
  const body = `{${M}}`
  for (const type of [
    'application/json; charset=utf-7',
    'application/json;charset=UTF-16',
    'application/json; charset="iso-8859-1"',
    "application/json; charset*=utf-8''utf-7",
    'application/json; charset=utf-8; charset=utf-7',
    'application/json; charset = utf-8x',
  ])
    t.match(await ask(PATHS.chat, body, { 'content-type': type }), '请求体字段无效:content-type', type)
  t.equal(s.at('a').calls.length, 0)
  for (const type of ['application/json', 'application/json; charset=utf-8', 'application/json; CHARSET="UTF-8"; x=y'])
    t.match(await ask(PATHS.chat, body, { 'content-type': type }), 'from upstream', type)
  for (const bytes of [`\uFEFF${body}`, [...body].join('\0')])
    t.match(await ask(PATHS.chat, bytes), '不是有效的JSON对象')
})

t.test('quotes and comments that JSON has not, in which a member could hide', async t => {
  const { s, ask } = await scene(t)
  const hidden = '"generationConfig":{"candidateCount":8,"maxOutputTokens":60000}'
  for (const body of [
    `{"contents":[],"labels":['"'],${hidden},"z":['"']}`,
    `{"contents":[],"labels":[/*"*/],${hidden},"z":[/*"*/]}`,
    `{"contents":[],"labels":[//"\n],${hidden},"z":[//"\n]}`,
    `{"contents":[],"labels":[#"\n],${hidden},"z":[#"\n]}`,
    '{"contents":[],"labels":[`"`],"z":[`"`]}',
  ])
    t.match(await ask(PATHS.generate, body), '不是有效的JSON对象', body)
  t.equal(s.at('a').calls.length, 0)
  t.match(await ask(PATHS.generate, '{"x":[1.5e-3,-1,true,false,null,"\'/*#",{"a" : [ ]}]}'), 'from upstream')
})

t.test('what is read as JSON goes up as JSON: a string can hide a form', async t => {
  const { s, ask } = await scene(t)
  const part = '\r\n--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n--b--\r\n'
  const rows: [type: string, upstream: string, body: string][] = [
    ['multipart/form-data; boundary=b', 'application/json', `{${M},"x":"${part.replaceAll('"', '')}"}`],
    ['application/x-www-form-urlencoded', 'application/json', `{${M},"x":"&model=other&"}`],
    ['application/x-protobuf', 'application/json', `{${M}}`],
    ['application/json, multipart/form-data; boundary=b', 'application/json', `{${M}}`],
    ['Application/JSON; charset=utf-8', 'Application/JSON; charset=utf-8', `{${M}}`],
    ['application/vnd.api+json', 'application/vnd.api+json', `{${M}}`],
  ]
  for (const [type, upstream, body] of rows) {
    const calls = s.at('a').calls.length
    const said = await ask(PATHS.chat, body, { 'content-type': type })
    t.match(said, 'from upstream', type)
    t.equal((await s.at('a').call(calls)).header('content-type'), upstream, type)
  }
})

t.test('counting is refused for the same', async t => {
  const { ask } = await scene(t)
  const count = `/v1beta/models/${MODEL}:countTokens`
  t.match(await ask(count, '{"generateContentRequest":{"cachedContent":"x"}}'), '请求体字段无效:cachedContent')
  t.match(await ask('/v1/messages/count_tokens', `{${M},"Model":"x"}`), '请求体字段无效:model')
})
