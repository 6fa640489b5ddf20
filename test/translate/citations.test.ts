/** What of an answer not every protocol has a place for: citations of addresses, and pictures. */
import t from 'tap'
import { type Loose, readAll, usageOf, writeAll } from './support/answers.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'

const FLAT = { type: 'url_citation', start_index: 2, end_index: 7, url: 'https://a.example', title: 'Über "a"' }
const { type, ...inner } = FLAT
const NESTED = { type, url_citation: inner }

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const event = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`
const eventsOf = (bytes: Buffer): Loose[] =>
  [...bytes.toString().matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string))

const CONTENT = [
  { type: 'output_text', text: 'So it is', annotations: [FLAT, { type: 'file_citation', file_id: 'f' }] },
]
const MESSAGE = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: CONTENT }
const RESPONSE = { status: 'completed', output: [MESSAGE] }
const added = event('response.output_text.annotation.added', { output_index: 0, item_id: 'msg_1', annotation: FLAT })
const OF_RESPONSES: [bytes: string, events: boolean][] = [
  [JSON.stringify(RESPONSE), false],
  [event('response.completed', { response: RESPONSE }), true],
  [
    event('response.output_text.delta', { output_index: 0, item_id: 'msg_1', content_index: 0, delta: 'So it is' }) +
      added +
      event('response.output_item.done', { output_index: 0, item: MESSAGE }) +
      event('response.completed', { response: RESPONSE }),
    true,
  ],
]
const message = (more: object) => ({ choices: [{ index: 0, finish_reason: 'stop', ...more }] })
const OF_CHAT: [bytes: string, events: boolean][] = [
  [JSON.stringify(message({ message: { content: 'So it is', annotations: [NESTED] } })), false],
  [
    data({ choices: [{ index: 0, delta: { content: 'So it is' } }] }) +
      data(message({ delta: { annotations: [NESTED, { type: 'moon' }] } })) +
      'data: [DONE]\n\n',
    true,
  ],
]

t.test('citations in responses are annotations in chat, once each, and the reverse', async t => {
  for (const [bytes, events] of OF_RESPONSES) {
    const answer = readAll(responses, [Buffer.from(bytes)], { events })
    const document = JSON.parse(writeAll(chat, answer, usageOf(), { events: false }).toString())
    t.same(document.choices[0].message.annotations, [NESTED])
    const deltas = eventsOf(writeAll(chat, answer, usageOf())).map(one => one['choices'][0]?.delta.annotations ?? [])
    t.same(deltas.flat(), [NESTED])
  }
  for (const [bytes, events] of OF_CHAT) {
    const answer = readAll(chat, [Buffer.from(bytes)], { events })
    const document = JSON.parse(writeAll(responses, answer, usageOf(), { events: false }).toString())
    t.same(document.output[0].content[0].annotations, [FLAT])
    const told = eventsOf(writeAll(responses, answer, usageOf()))
    t.match(
      told.filter(one => one['type'] === 'response.output_text.annotation.added'),
      [{ item_id: 'msg_01abc_0', content_index: 0, annotation_index: 0, annotation: FLAT }],
    )
    t.same(told.at(-1)?.['response'].output[0].content[0].annotations, [FLAT])
    for (const other of [messages, generate]) t.notMatch(writeAll(other, answer, usageOf()).toString(), 'a.example')
  }
})

const PICTURE = { inlineData: { mimeType: 'image/png', data: 'aGk=' } }
const DRAWN = { candidates: [{ index: 0, finishReason: 'STOP', content: { parts: [{ text: 'Look' }, PICTURE] } }] }

t.test(
  'a picture that a model has drawn is told where there is a place for it, and is never left out in silence',
  async t => {
    const answer = readAll(generate, [Buffer.from(JSON.stringify(DRAWN))], { events: false })
    const url = 'data:image/png;base64,aGk='
    for (const events of [true, false]) {
      const told = (protocol: typeof chat): string => writeAll(protocol, answer, usageOf(), { events }).toString()
      t.match(told(chat), JSON.stringify([{ type: 'image_url', image_url: { url } }]).slice(1, -1))
      t.match(told(responses), /"type":"image_generation_call","status":"completed","result":"aGk="/)
      t.match(told(generate), '"inlineData":{"mimeType":"image/png","data":"aGk="}')
      t.match(told(messages), /Look.*\[A file \(image\/png\) was left out: this protocol has no place/s)
      t.notMatch(told(messages), /aGk=/)
    }
  },
)
