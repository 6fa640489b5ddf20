/**
 * A picture's address in messages, chat or responses became the `fileUri` of generate-content as it was. There some addresses are files
 * at the provider, where all accounts share ours: clients of generate-content may not name them, and others could.
 */
// The bug behind these rows: files of others through another protocol.
import t from 'tap'
import { Untranslatable } from '../../lib/translate/events.ts'
import { plainTarget } from '../../lib/translate/ask.ts'
import { translated } from '../../lib/translate/table.ts'
import { translateRequest } from '../../lib/translate/table.ts'

const FILES = 'https://generativelanguage.googleapis.com/v1beta/files/abc'
const ADDRESSES = [FILES, FILES.toUpperCase(), FILES.replace('.com', '.com:443'), 'files/abc', 'https://a\0b/']
const CALL = { name: 'f', arguments: '{}' }

/** Wherever a picture or a document may stand with an address. */
const askedFor = {
  messages: (url: string) => {
    const image = { type: 'image', source: { type: 'url', url } }
    const result = { type: 'tool_result', tool_use_id: 'a', content: [image] }
    const called = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] }
    return [
      { messages: [{ role: 'user', content: [image] }] },
      { messages: [{ role: 'user', content: [{ ...image, type: 'document' }] }] },
      { messages: [{ role: 'user', content: 'q' }, called, { role: 'user', content: [result] }] },
    ].map(body => ({ max_tokens: 9, ...body }))
  },
  chat: (url: string) => {
    const content = [{ type: 'image_url', image_url: { url } }]
    const called = { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: CALL }] }
    return [
      { messages: [{ role: 'user', content }] },
      { messages: [{ role: 'user', content: 'q' }, called, { role: 'tool', tool_call_id: 'a', content }] },
    ]
  },
  responses: (url: string) => {
    const parts = [
      { type: 'input_image', image_url: url },
      { type: 'input_file', file_url: url },
    ]
    return parts.flatMap(part => [
      { input: [{ role: 'user', content: [part] }] },
      {
        input: [
          { type: 'function_call', call_id: 'a', ...CALL },
          { type: 'function_call_output', call_id: 'a', output: [part] },
        ],
      },
    ])
  },
}

function sent(from: keyof typeof askedFor, body: object): string {
  const ask = translated(from).readRequest(Buffer.from(JSON.stringify(body)), { model: 'm', stream: false })
  return translateRequest(ask, 'generate', plainTarget('m')).body.toString()
}

for (const from of ['messages', 'chat', 'responses'] as const)
  t.test(from, t => {
    for (const address of ADDRESSES)
      for (const body of askedFor[from](address))
        t.throws(() => sent(from, body), new Untranslatable('fileUri'), JSON.stringify(body))
    for (const body of askedFor[from]('https://a.example/x.png')) t.match(sent(from, body), '"https://a.example/x.png"')
    t.end()
  })
