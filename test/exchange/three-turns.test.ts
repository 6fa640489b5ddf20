/**
 * A conversation whose turns are answered in turn by an upstream of another protocol, by one that speaks the client's, and by the
 * first one again, with tools in between. The first upstream gets its own state back, and the second one nothing of it.
 */
import t from 'tap'
import { asks, FOUR, type Four, SENT } from './support/four.ts'
import { open } from './support/gateway.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies of four protocols, whose types do not matter here
type Json = Record<string, any>
const MARK = /^(?:gw1\.|Z3cxL)/
/** What an upstream gives to get it back. */
const STATE = 'c2ln'
const SCHEMA = { type: 'object', properties: { a: { type: 'number' } } }

/** Of upstreams that think and call a tool. Those of chat have no state. */
const CALLS: Record<Four, Json> = {
  messages: {
    ...SENT.messages.document,
    content: [
      { type: 'thinking', thinking: 'hm', signature: STATE },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
    ],
    stop_reason: 'tool_use',
  },
  chat: {
    ...SENT.chat.document,
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
        },
      },
    ],
  },
  responses: {
    ...SENT.responses.document,
    output: [
      { type: 'reasoning', id: 'rs_u', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: STATE },
      { type: 'function_call', id: 'fc_u', call_id: 'call_1', name: 'f', arguments: '{"a":1}', status: 'completed' },
    ],
  },
  generate: {
    ...SENT.generate.document,
    candidates: [
      {
        index: 0,
        finishReason: 'STOP',
        content: {
          role: 'model',
          parts: [
            { text: 'hm', thought: true },
            { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: STATE },
          ],
        },
      },
    ],
  },
}

/** How a client goes on: what it declares, what it sends of an answer, of a result and of another question. */
interface Talk {
  tools: Json
  /** The member with the turns. */
  turns: 'messages' | 'input' | 'contents'
  said(answer: Json): Json[]
  result(answer: Json): Json
  question: Json
  /** What an upstream of the protocol gets of a turn. */
  native(turn: Json): Json | null
}

const without = (object: Json, name: string): Json => {
  const { [name]: _, ...rest } = object
  return rest
}

const TALKS: Record<Four, Talk> = {
  messages: {
    tools: { tools: [{ name: 'f', input_schema: SCHEMA }] },
    turns: 'messages',
    said: ({ content }) => [{ role: 'assistant', content }],
    result: ({ content }) => {
      const { id } = content.find((block: Json) => block['type'] === 'tool_use')
      return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '42' }] }
    },
    question: { role: 'user', content: 'and then?' },
    native: turn => {
      if (typeof turn['content'] === 'string') return turn
      return { ...turn, content: turn['content'].filter((one: Json) => !MARK.test(one['signature'] ?? one['data'])) }
    },
  },
  chat: {
    tools: { tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }] },
    turns: 'messages',
    said: ({ choices }) => [choices[0].message],
    result: ({ choices }) => ({ role: 'tool', tool_call_id: choices[0].message.tool_calls[0].id, content: '42' }),
    question: { role: 'user', content: 'and then?' },
    native: turn => {
      const { reasoning_details: details, tool_calls: calls, ...rest } = turn
      return {
        ...rest,
        ...(details === undefined ? {} : { reasoning_details: details.filter((one: Json) => !MARK.test(one['data'])) }),
        ...(calls === undefined ? {} : { tool_calls: calls.map((call: Json) => without(call, 'extra_content')) }),
      }
    },
  },
  responses: {
    tools: { tools: [{ type: 'function', name: 'f', parameters: SCHEMA, strict: false }] },
    turns: 'input',
    said: ({ output }) => output,
    result: ({ output }) => {
      const { call_id } = output.find((item: Json) => item['type'] === 'function_call')
      return { type: 'function_call_output', call_id, output: '42' }
    },
    question: { role: 'user', content: 'and then?' },
    native: turn => (MARK.test(turn['encrypted_content']) ? null : turn),
  },
  generate: {
    tools: { tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: SCHEMA }] }] },
    turns: 'contents',
    said: ({ candidates }) => [candidates[0].content],
    result: () => ({ role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: '42' } } }] }),
    question: { role: 'user', parts: [{ text: 'and then?' }] },
    native: turn => ({
      ...turn,
      parts: turn['parts'].map((part: Json) => {
        if (!MARK.test(part['thoughtSignature'])) return part
        const rest = without(part, 'thoughtSignature')
        return 'functionCall' in part ? { ...rest, thoughtSignature: 'skip_thought_signature_validator' } : rest
      }),
    }),
  },
}

/** Where an upstream finds its state. */
const FOUND: Record<Four, ((body: Json) => unknown) | null> = {
  messages: ({ messages }) => messages[1].content,
  chat: null,
  responses: ({ input }) => input.slice(1, 3),
  generate: ({ contents }) => contents[1].parts.filter((part: Json) => 'functionCall' in part),
}
const EXPECTED: Record<Four, unknown> = {
  messages: [
    { type: 'thinking', thinking: 'hm', signature: STATE },
    { type: 'tool_use', input: { a: 1 } },
  ],
  chat: null,
  responses: [
    { type: 'reasoning', id: 'rs_u', encrypted_content: STATE },
    { type: 'function_call', arguments: '{"a":1}' },
  ],
  generate: [{ functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: STATE }],
}

const s = await open(t, {
  channels: Object.fromEntries(
    FOUR.flatMap(protocol => [
      [`via-${protocol}`, { protocols: [protocol], models: [`via-${protocol}`] }],
      // a name by which models are known that refuse a call without state
      [`own-${protocol}`, { protocols: [protocol], models: { [`own-${protocol}`]: 'gemini-3-pro' } }],
    ]),
  ),
  models: FOUR.flatMap(protocol => [`via-${protocol}`, `own-${protocol}`]),
})

for (const client of FOUR)
  for (const via of FOUR)
    if (client !== via)
      t.test(`${client}: by ${via}, by its own protocol, and by ${via} again`, async t => {
        const { tools, turns, said, result, question, native } = TALKS[client]
        const history: Json[] = [...((asks(client, 'x').body as Json)[turns] as Json[])]
        const turn = async (model: string, document: object): Promise<{ answer: Json; sent: Json }> => {
          const upstream = s.at(model)
          upstream.script = call => call.whole(200, document)
          const asked = s.ask(asks(client, model, { more: { ...tools, [turns]: history } }))
          t.equal(await asked.end(), 'whole')
          t.equal(asked.status, 200, asked.text)
          return {
            answer: JSON.parse(asked.text),
            sent: JSON.parse((await upstream.call(upstream.calls.length - 1)).body),
          }
        }
        const first = await turn(`via-${via}`, CALLS[via])
        history.push(...said(first.answer), result(first.answer))
        t.equal(/gw1\.|Z3cxL/.test(JSON.stringify(history)), client !== 'chat' || via !== 'chat')
        const second = await turn(`own-${client}`, SENT[client].document)
        t.same(
          second.sent[turns],
          history.map(native).filter(one => one !== null),
          'nothing of ours, and all else',
        )
        history.push(...said(second.answer), question)
        const third = await turn(`via-${via}`, SENT[via].document)
        const found = FOUND[via]
        if (found !== null) t.match(found(third.sent), EXPECTED[via])
        t.match(JSON.stringify(third.sent), /Good morning to you.*and then/)
        t.notMatch(JSON.stringify(third.sent), /gw1\.|Z3cxL/)
      })
