/** An answer of responses repeats parts of its request. Where the request had several lines, so had the data of the event, which ended at the first. */
// The bug behind these rows: requests of several lines repeated in events.

import OpenAI from 'openai'
import t from 'tap'
import { usageOf, writeAll } from './support/answers.ts'
import { responses } from './support/protocols.ts'

const TOOL = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }
const BODY = {
  model: 'm',
  input: 'x',
  tools: [TOOL],
  metadata: { a: 'b' },
  tool_choice: { type: 'function', name: 'f' },
}

t.test('events have one line of data, whatever the request looks like', async t => {
  for (const body of [JSON.stringify(BODY, null, 2), JSON.stringify(BODY, null, 1).replaceAll('\n', '\r\n')]) {
    const ask = responses.readRequest(Buffer.from(body), { model: 'm', stream: true })
    const bytes = writeAll(
      responses,
      [
        { type: 'begin', id: 'i', model: 'm' },
        { type: 'open', index: 0, kind: 'text' },
        { type: 'delta', index: 0, text: '"Hi"' },
        { type: 'close', index: 0 },
        { type: 'stop', reason: 'end', sequence: null },
        { type: 'end' },
      ],
      usageOf(),
      { ask },
    )
    const fetch = async () => new Response(bytes, { headers: { 'content-type': 'text/event-stream' } })
    const client = new OpenAI({ apiKey: 'k', maxRetries: 0, fetch })
    const answer = await client.responses.stream({ model: 'm', input: 'x' }).finalResponse()
    t.match(answer, { output_text: 'Hi', tools: [TOOL], metadata: { a: 'b' } })
  }
})
