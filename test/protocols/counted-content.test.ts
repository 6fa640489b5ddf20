/** What an answer says counts, whatever it is: 120 KB of function-call arguments counted 0, as did code and pictures. */
// The bug behind these rows: content that was not counted.
import t from 'tap'
import type { Protocol } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'

const WORDS = 'The quick brown fox says "hello" to 你好.\n'.repeat(20)
const HALF = WORDS.slice(0, WORDS.length / 2)
const OBJECT = { city: WORDS, list: [{ 'a"b': 'c\\' }, 1, null] }
/** Of a picture. */
const BASE64 = 'iVBORw0KGgo/'.repeat(20_000)

type Json = Record<string, unknown>
const part = (part: Json): Json => ({ candidates: [{ content: { parts: [part] } }] })
const block = (content_block: Json): Json => ({ type: 'content_block_start', index: 0, content_block })
const delta = (delta: Json): Json => ({ type: 'content_block_delta', index: 0, delta })
const choice = (delta: Json): Json => ({ choices: [{ delta }] })
const message = (message: Json): Json => ({ choices: [{ message }] })
const text = (type: string) => ({ type: `response.${type}.delta`, delta: WORDS })
const item = (item: Json): Json => ({ type: 'response.output_item.done', item })

/** `text`: as many tokens as its text has. `encoded`: more than none, and far fewer than as much text. `none`: framing. */
const SAYINGS: [Protocol, 'stream' | 'document', 'text' | 'encoded' | 'none', Json][] = [
  ['messages', 'stream', 'text', delta({ type: 'text_delta', text: WORDS })],
  ['messages', 'stream', 'text', delta({ type: 'thinking_delta', thinking: WORDS })],
  ['messages', 'stream', 'text', delta({ type: 'input_json_delta', partial_json: WORDS })],
  ['messages', 'stream', 'text', delta({ type: 'compaction_delta', content: WORDS })],
  ['messages', 'stream', 'text', delta({ type: 'citations_delta', citation: { cited_text: WORDS } })],
  ['messages', 'stream', 'encoded', delta({ type: 'signature_delta', signature: BASE64 })],
  ['messages', 'stream', 'text', block({ type: 'text', text: WORDS })],
  ['messages', 'stream', 'text', block({ type: 'tool_use', name: 'x', input: OBJECT })],
  ['messages', 'stream', 'none', block({ type: 'tool_use', name: 'x', input: {} })],
  ['messages', 'stream', 'encoded', block({ type: 'redacted_thinking', data: BASE64 })],
  ['messages', 'stream', 'text', block({ type: 'bash_code_execution_tool_result', content: { stdout: WORDS } })],
  ['messages', 'stream', 'encoded', block({ content: [{ type: 'web_search_result', encrypted_content: BASE64 }] })],
  ['messages', 'document', 'text', { content: [{ type: 'tool_use', input: OBJECT }] }],
  ['chat', 'stream', 'text', choice({ content: WORDS })],
  ['chat', 'stream', 'text', choice({ reasoning_content: WORDS })],
  ['chat', 'stream', 'text', choice({ reasoning_details: [{ type: 'reasoning.text', text: WORDS }] })],
  ['chat', 'stream', 'text', choice({ reasoning_details: [{ type: 'reasoning.summary', summary: WORDS }] })],
  ['chat', 'stream', 'text', choice({ reasoning: WORDS, reasoning_details: [{ text: WORDS }] })],
  ['chat', 'stream', 'text', choice({ reasoning: WORDS, reasoning_details: [{ summary: WORDS }] })],
  ['chat', 'stream', 'text', choice({ reasoning_content: HALF, content: HALF })],
  ['chat', 'stream', 'text', choice({ reasoning_details: [{ summary: HALF }], content: HALF })],
  ['chat', 'stream', 'text', choice({ refusal: WORDS })],
  ['chat', 'stream', 'text', choice({ tool_calls: [{ function: { arguments: WORDS } }] })],
  ['chat', 'stream', 'text', choice({ tool_calls: [{ custom: { input: WORDS } }] })],
  ['chat', 'stream', 'text', choice({ function_call: { arguments: WORDS } })],
  ['chat', 'stream', 'text', choice({ audio: { transcript: WORDS } })],
  ['chat', 'stream', 'encoded', choice({ audio: { data: BASE64 } })],
  ['chat', 'stream', 'encoded', choice({ images: [{ image_url: { url: `data:image/png;base64,${BASE64}` } }] })],
  ['chat', 'stream', 'none', choice({ role: 'assistant', content: '' })],
  ['chat', 'document', 'text', message({ content: [{ type: 'text', text: WORDS }] })],
  ['chat', 'document', 'text', { choices: [{ text: WORDS }] }],
  ['responses', 'stream', 'text', text('output_text')],
  ['responses', 'stream', 'text', text('function_call_arguments')],
  ['responses', 'stream', 'text', text('code_interpreter_call_code')],
  ['responses', 'stream', 'text', text('reasoning_summary_text')],
  ['responses', 'stream', 'text', text('refusal')],
  ['responses', 'stream', 'encoded', item({ type: 'image_generation_call', result: BASE64 })],
  ['responses', 'stream', 'none', { type: 'response.image_generation_call.partial_image', partial_image_b64: BASE64 }],
  ['responses', 'document', 'text', { output: [{ type: 'code_interpreter_call', code: WORDS }] }],
  ['responses', 'document', 'text', { output: [{ content: [{ type: 'refusal', refusal: WORDS }] }] }],
  ['responses', 'document', 'encoded', { output: [{ type: 'reasoning', encrypted_content: BASE64 }] }],
  ['generate', 'stream', 'text', part({ text: WORDS })],
  ['generate', 'stream', 'text', part({ functionCall: { args: OBJECT } })],
  ['generate', 'stream', 'text', part({ executableCode: { language: 'PYTHON', code: WORDS } })],
  ['generate', 'stream', 'text', part({ codeExecutionResult: { outcome: 'OK', output: WORDS } })],
  ['generate', 'stream', 'encoded', part({ inlineData: { mimeType: 'image/png', data: BASE64 } })],
  ['generate', 'document', 'text', part({ functionCall: { args: OBJECT } })],
  ['generate', 'document', 'encoded', part({ inlineData: { data: BASE64, mimeType: 'image/png' } })],
  ['generate', 'stream', 'none', { error: { code: 500, message: WORDS } }],
  ['images', 'stream', 'none', { type: 'image_generation.partial_image', b64_json: BASE64 }],
]

/** What an answer without usage counts, in chunks of so many bytes. */
function counted(protocol: Protocol, form: string, saying: Json, size: number): number {
  const meter = protocolRow(protocol).meter({ events: form === 'stream', lengthStop: false, cacheTtl: '5m' })
  const json = JSON.stringify(saying)
  const bytes = Buffer.from(form === 'stream' ? `data: ${json}\n\n` : json)
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = bytes.subarray(at, at + size)
    meter.feed(chunk, chunk.toString('latin1'))
  }
  meter.end(true)
  return meter.counted
}

t.test('each kind of content counts, however it is cut', async t => {
  const tokens = Buffer.byteLength(WORDS) / 4.4
  for (const [protocol, form, kind, saying] of SAYINGS) {
    const what = `${protocol} ${form}: ${JSON.stringify(saying).slice(0, 100)}`
    const whole = counted(protocol, form, saying, 1e9)
    if (kind === 'none') t.equal(whole, 0, what)
    else if (kind === 'text') t.ok(whole > tokens * 0.9 && whole < tokens * 1.4, `${what}: ${whole} of ${tokens}`)
    else t.ok(whole > 100 && whole < BASE64.length / 500, `${what}: ${whole}`)
    for (const size of kind === 'encoded' ? [997] : [1, 7]) t.equal(counted(protocol, form, saying, size), whole, what)
  }
})

t.test('pictures of a document that breaks off are those that have begun', async t => {
  const meter = protocolRow('images').meter({ events: false, lengthStop: false, cacheTtl: '5m' })
  const text = `{"created":1,"data":[{"b64_json":"${BASE64}"},{"b64_json":"${BASE64}`
  meter.feed(Buffer.from(text), text)
  meter.end(false)
  t.match(meter, { usage: { images: 2, input: 0 }, terminal: false, foreign: false })
})

/** Framings that clients read: what was said counts, and what was reported is found. */
t.test('framings', async t => {
  const said = JSON.stringify(choice({ content: WORDS }))
  const usage = '{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":300}}'
  const frames: [string, string][] = [
    ['plain', `data: ${said}\n\ndata: ${usage}\n\ndata: [DONE]\n\n`],
    ['CRLF', `data: ${said}\r\n\r\ndata: ${usage}\r\n\r\ndata: [DONE]\r\n\r\n`],
    ['CR alone', `data: ${said}\r\rdata: ${usage}\r\rdata: [DONE]\r\r`],
    ['CR alone, and the first line is a comment', `: hi\rdata: ${said}\r\rdata: ${usage}\r\rdata: [DONE]\r\r`],
    ['BOM, no space', `\ufeffdata:${said}\n\ndata:${usage}\n\ndata:[DONE]\n\n`],
    ['comments and other fields', `: hi\n\nid: 1\nretry: 5\ndata: ${said}\n\n: x\ndata: ${usage}\n\ndata: [DONE]\n\n`],
    ['two lines of data', `data: ${said}\n\ndata: {"choices":[],\ndata: ${usage.slice(13)}\n\ndata: [DONE]\n\n`],
    ['no last blank line', `data: ${said}\n\ndata: ${usage}\n\ndata: [DONE]`],
    ['twice the same usage', `data: ${said}\n\ndata: ${usage}\n\ndata: ${usage}\n\ndata: [DONE]\n\n`],
    ['named events', `event: x\ndata: ${said}\n\nevent: x\ndata: ${usage}\n\nevent: x\ndata: [DONE]\n\n`],
  ]
  for (const [what, frame] of frames)
    for (const size of [1, 2, 3, 1e9]) {
      const meter = protocolRow('chat').meter({ events: true, lengthStop: false, cacheTtl: '5m' })
      const bytes = Buffer.from(frame)
      for (let at = 0; at < bytes.length; at += size) {
        const chunk = bytes.subarray(at, at + size)
        meter.feed(chunk, chunk.toString('latin1'))
      }
      meter.end(true)
      t.match(
        meter,
        { usage: { input: 5, output: 300 }, terminal: true, final: true, foreign: false },
        `${what} ${size}`,
      )
      t.ok(meter.counted > 150, what)
    }
})
