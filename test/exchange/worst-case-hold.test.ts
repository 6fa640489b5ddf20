/**
 * What was held was far below what a request could cause: a maximum of another protocol lowered it, numbers in text and
 * other spellings were not read, what the upstream fetches or has stored was in no hold, and base64 counted as text. An
 * account with 0.50 ended at -839.50.
 */
// The bug behind these rows: what a request may cause.
import t from 'tap'
import { HEADERS, MODEL, NOTHING_LEFT, open, PATHS, type Scene } from './support/gateway.ts'
import type { Talking } from '../support/talking.ts'
import { until } from '../support/wait.ts'

const DEFAULT = 100_000
const CEILING = 100_000
const MAX_INPUT = 200_000
const PICTURE = 2000
const TOOL = 16_000

/** A token costs a micro-CNY on either side, so that amounts are tokens. */
const scene = (t: Parameters<typeof open>[0]) =>
  open(t, {
    // tools of the upstream cost only what they read
    model: {
      price: { input: 1, output: 1, web_search: 0, container: { '1g': 0 } },
      input_factor: 1,
      max_output: CEILING,
    },
    channels: { a: { thoughts: 'within' } },
  })

/** What is held while the upstream is asked; null = refused. */
async function held(s: Scene, protocol: Talking, members: string): Promise<{ held: number | null; said: string }> {
  const model = protocol === 'generate' ? '' : `"model":"${MODEL}",`
  const body = `{${model}${members}}`
  const client = s.ask({ path: PATHS[protocol], headers: HEADERS, body })
  const calls = s.at('a').calls.length
  let refused = false
  const ended = client.end().then(() => (refused = true))
  await until('the upstream is asked, or the client is refused', () => refused || s.at('a').calls.length > calls)
  if (refused) return { held: null, said: client.text }
  const amount = s.services.ledger.heldTotal
  s.at('a').calls[calls]?.whole(400, {})
  await ended
  return { held: amount, said: body }
}

/** Of a body's text, framing included. */
const text = (protocol: Talking, members: string) =>
  Math.ceil((members.length + 2 + (protocol === 'generate' ? 0 : `"model":"${MODEL}",`.length)) / 4)

t.test('the maximum: of its own protocol, the largest, however it is written', async t => {
  const s = await scene(t)
  const pad = 'x'.repeat(70_000)
  const rows: [Talking, string, number][] = [
    ['chat', '"max_tokens":1', 1],
    ['chat', '"max_tokens":5,"max_completion_tokens":9', 9],
    ['chat', '"max_completion_tokens":5,"max_tokens":9', 9],
    ['chat', '"max_output_tokens":1', DEFAULT],
    ['chat', '"max_tokens":0', DEFAULT],
    ['chat', '"max_tokens":0,"max_completion_tokens":7', DEFAULT],
    ['chat', '"max_tokens":null', DEFAULT],
    ['chat', '"max_tokens":"8000"', 8000],
    ['chat', '"max_tokens":" 8e3 "', 8000],
    ['chat', '"max_tokens":1.5', 2],
    ['chat', '"max_tokens":-1', CEILING],
    ['chat', '"max_tokens":1e400', CEILING],
    ['chat', '"max_tokens":true', CEILING],
    ['chat', '"max_tokens":{"value":1}', CEILING],
    ['chat', '"max_tokens":"many"', CEILING],
    ['chat', `"max_tokens":"${'0'.repeat(100)}8"`, CEILING],
    ['chat', '"max\\u005ftokens":9000', 9000],
    ['chat', '"max_tokens":1000000000', CEILING],
    ['chat', '"max_tokens":10,"thinking":{"budget_tokens":300}', 300],
    ['chat', '"max_tokens":1,"n_predict":9000', 9000],
    ['chat', '"max_tokens":9000,"n_predict":1', 9000],
    ['chat', '"max_tokens":1,"n_predict":-1', CEILING],
    ['responses', '"max_output_tokens":1,"max_new_tokens":9000', 9000],
    ['messages', '"max_tokens":1,"max_length":9000', 9000],
    ['messages', '"max_tokens":7', 7],
    ['messages', '"max_tokens":0', DEFAULT],
    ['messages', '"max_completion_tokens":1', DEFAULT],
    ['messages', '"max_tokens":7,"thinking":{"type":"enabled","budget_tokens":5000}', 5000],
    ['messages', '"max_tokens":7,"fallbacks":[{"max_tokens":6000}]', 6000],
    ['responses', '"max_tokens":1', DEFAULT],
    ['responses', '"max_output_tokens":0', DEFAULT],
    ['responses', '"max_output_tokens":9', 9],
    ['generate', '"generationConfig":{"maxOutputTokens":9}', 9],
    ['generate', '"generation_config":{"max_output_tokens":"90"}', 90],
    ['generate', '"generationConfig":{"maxOutputTokens":0}', DEFAULT],
    ['generate', `"generationConfig":{"stopSequences":["${pad}"],"maxOutputTokens":90000}`, 90_000],
    ['generate', '"generationConfig":{"x":{"maxOutputTokens":1}}', DEFAULT],
    ['generate', '"max_tokens":1', DEFAULT],
  ]
  for (const [protocol, members, output] of rows) {
    const got = await held(s, protocol, members)
    const least = Math.max(1, output)
    t.equal(got.held, text(protocol, members) + (output === 0 ? 0 : least), `${protocol} ${members.slice(0, 70)}`)
  }
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('answers: as many as any spelling asks for', async t => {
  const s = await scene(t)
  const rows: [Talking, string, number][] = [
    ['chat', '"max_tokens":100,"n":3', 300],
    ['chat', '"max_tokens":100,"n":"8"', 800],
    ['chat', '"max_tokens":100,"n":2,"best_of":5', 500],
    ['chat', '"max_tokens":100,"n":1,"n_cmpl":4', 400],
    ['chat', '"max_tokens":100,"n":0', 100],
    ['chat', '"max_tokens":100,"n":1.5', 200],
    ['generate', '"generationConfig":{"candidateCount":"8","maxOutputTokens":10}', 80],
    ['generate', '"n":1,"generation_config":{"candidate_count":4,"maxOutputTokens":10}', 40],
    ['responses', '"max_output_tokens":100,"n":9', 100],
  ]
  for (const [protocol, members, output] of rows)
    t.equal((await held(s, protocol, members)).held, text(protocol, members) + output, members)
  t.equal((await held(s, 'chat', '"max_tokens":100,"n":"no number"')).held, null, 'as many as there could be')
})

t.test('what stands in the body beside text: pictures, pages, sound', async t => {
  const s = await scene(t)
  const base64 = 'QUJD'.repeat(100_000) // 300,000 bytes
  const pages = Math.ceil(300_000 / 4096)
  const image = `data:image/png;base64,${base64}`
  const rows: [Talking, string, number][] = [
    [
      'messages',
      `"messages":[{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${base64}"}}]}]`,
      PICTURE,
    ],
    [
      'messages',
      `"messages":[{"content":[{"source":{"data":"${base64}","media_type":"image/png","type":"base64"},"type":"image"}]}]`,
      PICTURE,
    ],
    [
      'messages',
      `"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${base64}"}}]}]}]`,
      PICTURE,
    ],
    [
      'messages',
      `"messages":[{"content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${base64}"}}]}]`,
      pages * PICTURE,
    ],
    [
      'messages',
      `"messages":[{"content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${base64.repeat(3)}"}}]}]`,
      MAX_INPUT,
    ],
    ['chat', `"messages":[{"content":[{"type":"image_url","image_url":{"url":"${image}"}}]}]`, PICTURE],
    [
      'chat',
      `"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image\\/png;base64,${base64}"}}]}]`,
      PICTURE,
    ],
    [
      'chat',
      `"messages":[{"content":[{"type":"input_audio","input_audio":{"format":"mp3","data":"${base64}"}}]}]`,
      400 * 32,
    ],
    [
      'chat',
      `"messages":[{"content":[{"type":"input_audio","input_audio":{"data":"${base64}","format":"wav"}}]}]`,
      38 * 32,
    ],
    [
      'chat',
      `"messages":[{"content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,${base64}"}}]}]`,
      pages * PICTURE,
    ],
    ['chat', `"messages":[{"content":[{"type":"file","file":{"file_data":"${base64}"}}]}]`, pages * PICTURE],
    ['responses', `"input":[{"role":"user","content":[{"type":"input_image","image_url":"${image}"}]}]`, PICTURE],
    [
      'responses',
      `"input":[{"type":"function_call_output","output":[{"type":"input_image","image_url":"${image}"}]}]`,
      PICTURE,
    ],
    [
      'responses',
      `"input":[{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"${image}"}}]`,
      PICTURE,
    ],
    ['responses', `"input":[{"type":"image_generation_call","id":"ig_1","result":"${base64}"}]`, PICTURE],
    [
      'responses',
      `"input":[{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,${base64}"}]}]`,
      pages * PICTURE,
    ],
    ['generate', `"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"${base64}"}}]}]`, PICTURE],
    ['generate', `"contents":[{"parts":[{"inline_data":{"data":"${base64}","mime_type":"image/png"}}]}]`, PICTURE],
    [
      'generate',
      `"contents":[{"parts":[{"functionResponse":{"parts":[{"inlineData":{"mimeType":"image/png","data":"${base64}"}}]}}]}]`,
      PICTURE,
    ],
    ['generate', `"contents":[{"parts":[{"inlineData":{"mimeType":"audio/mp3","data":"${base64}"}}]}]`, 400 * 32],
    [
      'generate',
      `"contents":[{"parts":[{"inlineData":{"mimeType":"video/mp4","data":"${base64}"}}]}]`,
      pages * PICTURE,
    ],
    ['generate', `"contents":[{"parts":[{"inlineData":{"mimeType":"text/plain","data":"${base64}"}}]}]`, 75_000],
  ]
  for (const [protocol, members, want] of rows) {
    const rest = members.replace(/(QUJD)+/g, '')
    const prefix = /data:[a-z\\/]+;base64,/.exec(members)?.[0].length ?? 0
    const got = (await held(s, protocol, members)).held ?? 0
    const expected = want + DEFAULT + text(protocol, rest)
    t.ok(Math.abs(got - expected) <= 1 + prefix / 4, `${protocol} ${rest.slice(0, 120)}: ${got}, not ${expected}`)
  }
})

t.test('text cannot pass for a picture', async t => {
  const s = await scene(t)
  const long = 'QUJD'.repeat(50_000)
  const source = `{"type":"base64","media_type":"image/png","data":"${long}"}`
  const url = `data:image/png;base64,${long}`
  const rows: [Talking, string][] = [
    ['messages', `"messages":[{"content":[{"type":"text","text":"${url}"}]}]`],
    [
      'messages',
      `"messages":[{"content":[{"type":"document","source":{"type":"text","media_type":"image/png","data":"${long}"}}]}]`,
    ],
    ['messages', `"messages":[{"content":[{"type":"tool_use","input":{"source":${source}}}]}]`],
    ['messages', `"tools":[{"name":"x","input_schema":{"properties":{"content":[{"source":${source}}]}}}]`],
    ['messages', `"metadata":{"content":[{"source":${source}}]}`],
    ['chat', `"messages":[{"content":"${url}"}]`],
    ['chat', `"tools":[{"type":"function","function":{"parameters":{"content":[{"image_url":{"url":"${url}"}}]}}}]`],
    ['responses', `"input":"${url}"`],
    ['responses', `"input":[{"type":"reasoning","id":"rs_1","encrypted_content":"${long}"}]`],
    ['responses', `"input":[{"type":"message","role":"user","result":"${long}"}]`],
    [
      'generate',
      `"contents":[{"parts":[{"functionCall":{"args":{"inlineData":{"mimeType":"image/png","data":"${long}"}}}}]}]`,
    ],
    [
      'generate',
      `"contents":[{"parts":[{"functionResponse":{"response":{"inlineData":{"mimeType":"image/png","data":"${long}"}}}}]}]`,
    ],
  ]
  for (const [protocol, members] of rows)
    t.equal((await held(s, protocol, members)).held, text(protocol, members) + DEFAULT, members.slice(0, 90))
})

t.test('what the upstream fetches, and what its own tools find', async t => {
  const s = await scene(t)
  const http = 'https://example.test/x'
  const rows: [Talking, string, number][] = [
    ['messages', `"messages":[{"content":[{"type":"image","source":{"type":"url","url":"${http}"}}]}]`, PICTURE],
    ['messages', `"messages":[{"content":[{"source":{"url":"${http}","type":"url"},"type":"document"}]}]`, MAX_INPUT],
    ['messages', '"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":3}]', 3 * TOOL],
    ['messages', '"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]', 10 * TOOL],
    ['messages', '"tools":[{"type":"bash_20250124","name":"bash"},{"name":"mine","input_schema":{}}]', 0],
    ['messages', `"mcp_servers":[{"type":"url","url":"${http}","name":"m"}]`, 10 * TOOL],
    ['messages', '"tools":[{"type":"advisor_20260301","model":"x","max_uses":2,"max_tokens":50}]', 2 * TOOL + 100],
    ['chat', `"messages":[{"content":[{"type":"image_url","image_url":{"url":"${http}"}}]}]`, PICTURE],
    ['chat', `"messages":[{"content":[{"type":"video_url","video_url":{"url":"${http}"}}]}]`, MAX_INPUT],
    ['chat', '"web_search_options":{}', 10 * TOOL],
    ['chat', '"tools":[{"type":"function","function":{"name":"x"}},{"type":"web_search"}]', 10 * TOOL],
    ['responses', `"input":[{"role":"user","content":[{"type":"input_image","image_url":"${http}"}]}]`, PICTURE],
    ['responses', `"input":[{"role":"user","content":[{"type":"input_file","file_url":"${http}"}]}]`, MAX_INPUT],
    ['responses', '"tools":[{"type":"web_search"},{"type":"function","name":"x"}]', 10 * TOOL],
    ['responses', '"tools":[{"type":"web_search"},{"type":"mcp","server_label":"l"}],"max_tool_calls":4', 4 * TOOL],
    ['responses', '"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]', 10 * TOOL],
    [
      'responses',
      '"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"web_search"}]}]',
      10 * TOOL,
    ],
    ['generate', `"contents":[{"parts":[{"fileData":{"fileUri":"${http}","mimeType":"image/png"}}]}]`, PICTURE],
    ['generate', `"contents":[{"parts":[{"file_data":{"file_uri":"${http}"}}]}]`, MAX_INPUT],
    ['generate', '"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"x"}]}]', 10 * TOOL],
    ['generate', '"tools":[{"url_context":{},"codeExecution":{}}]', 20 * TOOL],
  ]
  for (const [protocol, members, want] of rows)
    t.equal((await held(s, protocol, members)).held, text(protocol, members) + DEFAULT + want, members)
})

t.test('searches, and answers that hold more than text', async t => {
  const most = 1000
  const price = { input: 0, output: 1, output_audio: 3, output_image: 2, web_search: 0.01 }
  const s = await open(t, { model: { price, max_searches: 4 } })
  const search = '{"type":"web_search_20250305","name":"web_search"}'
  const rows: [Talking, string, searches: number, each: number][] = [
    ['messages', '', 0, 1],
    ['messages', `"tools":[${search}],`, 4, 1],
    ['messages', `"tools":[${search.replace('}', ',"max_uses":"2"}')},${search}],`, 6, 1],
    ['chat', '', 0, 3],
    ['chat', '"modalities":["text"],"web_search_options":{},', 4, 1],
    ['chat', '"modalities":["text","image"],', 0, 2],
    ['chat', '"modalities":["text","audio"],"audio":{"voice":"alloy"},', 0, 3],
    ['responses', '"modalities":["text"],', 0, 1],
    ['responses', '"modalities":["text"],"tools":[{"type":"web_search_preview"}],"max_tool_calls":3,', 3, 1],
    ['responses', '"modalities":["text","audio"],', 0, 3],
  ]
  for (const [protocol, members, searches, each] of rows) {
    const maximum = `"${protocol === 'responses' ? 'max_output_tokens' : 'max_tokens'}":${most}`
    const want = searches * 10_000 + most * each
    t.equal((await held(s, protocol, members + maximum)).held, want, `${protocol} ${members}`)
  }
  const generate: [string, string, searches: number, each: number][] = [
    ['', '', 0, 3],
    ['"responseModalities":["TEXT"],', '', 0, 1],
    ['"responseModalities":["TEXT"],', ',"tools":[{"google_search":{}},{"codeExecution":{}}]', 4, 1],
    ['"responseModalities":["TEXT","IMAGE"],', '', 0, 2],
  ]
  for (const [config, tools, searches, each] of generate) {
    const members = `"generationConfig":{${config}"maxOutputTokens":${most}}${tools}`
    t.equal((await held(s, 'generate', members)).held, searches * 10_000 + most * each, members)
  }
})

t.test('the settings of a model say how much that is', async t => {
  const s = await open(t, {
    model: {
      price: { input: 1, output: 1, web_search: 0 },
      input_factor: 1,
      max_output: 1,
      default_output: 1,
      max_input: 50,
      media_input: 7,
      tool_input: 3,
      max_searches: 2,
    },
  })
  const members =
    '"messages":[{"content":[{"type":"image","source":{"type":"url","url":"h"}},{"type":"document","source":{"type":"url","url":"h"}}]}],"tools":[{"type":"web_search_20250305"}]'
  t.equal((await held(s, 'messages', members)).held, text('messages', members) + 1 + 50 + 7 + 2 * 3)
})

t.test('a picture is not charged as text when a stream breaks off before its usage', async t => {
  const s = await scene(t)
  const data = 'QUJD'.repeat(500_000)
  const part = { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }
  const client = s.ask({
    path: PATHS.chat,
    headers: HEADERS,
    body: { model: MODEL, stream: true, messages: [{ role: 'user', content: [part] }] },
  })
  const call = await s.at('a').call()
  call.stream()
  call.chunk('data: {"choices":[{"delta":{"content":"Good morning"}}]}\n\n')
  await client.sees('morning')
  call.reset()
  await client.end()
  const { rows } = await s.books()
  t.equal(rows[0]?.basis, 'counted')
  t.ok((rows[0]?.input ?? 0) < 2100, `${rows[0]?.input}`)
})
