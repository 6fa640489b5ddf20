/** Requests of generate-content for upstreams of the others, and the reverse, each as a row. */
import t from 'tap'
import { envelopeCuts, issuerOf, mayHaveEnvelope, seal, seal64 } from '../../../lib/translate/opaque.ts'
import { translatedRow } from '../../../lib/translate/table.ts'
import type { Loose } from '../support/answers.ts'
import { type Row, refuses, testRows, via } from '../support/rows.ts'
import { chat, generate, messages } from '../support/protocols.ts'

const user = (...parts: object[]): object => ({ role: 'user', parts })
const model = (...parts: object[]): object => ({ role: 'model', parts })
const Q = { contents: [user({ text: 'q' })] }
const SCHEMA = { type: 'object', properties: { x: { type: 'number' } } }
const DECLARED = { name: 'f', description: 'F', parametersJsonSchema: SCHEMA }
const TOOLS = [{ functionDeclarations: [DECLARED] }]
const call = (name: string, args: object, more: object = {}): object => ({ functionCall: { name, args, ...more } })
const response = (name: string, response: object, more: object = {}): object => ({
  functionResponse: { name, response, ...more },
})
const config = (generationConfig: object): object => ({ ...Q, generationConfig })
const choice = (functionCallingConfig: object): object => ({
  ...Q,
  tools: TOOLS,
  toolConfig: { functionCallingConfig },
})

const ROWS: Row[] = [
  {
    what: 'a text, a system prompt, a maximum',
    to: chat,
    body: {
      ...Q,
      systemInstruction: { role: 'user', parts: [{ text: 'You are' }] },
      generationConfig: { temperature: 0.5, topP: 0.9, maxOutputTokens: 50, stopSequences: ['x'], seed: '7' },
    },
    gets: {
      messages: [
        { role: 'system', content: 'You are' },
        { role: 'user', content: 'q' },
      ],
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 50,
      stop: ['x'],
      seed: 7,
    },
    losses: [],
  },
  {
    what: 'the other spelling of every member',
    to: messages,
    body: {
      contents: [
        user({ text: 'q' }, { inline_data: { mime_type: 'image/png', data: 'aGk=' } }),
        model({ function_call: { id: 'c1', name: 'f', args: { x: 1 } } }),
        user({ function_response: { id: 'c1', name: 'f', response: { output: 'r' } } }),
      ],
      system_instruction: { parts: [{ text: 'S' }] },
      tools: [{ function_declarations: [{ name: 'f', parameters_json_schema: SCHEMA }] }],
      tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['f'] } },
      generation_config: { max_output_tokens: 99, stop_sequences: ['z'], top_k: 3 },
    },
    gets: {
      system: [{ text: 'S' }],
      max_tokens: 99,
      top_k: 3,
      stop_sequences: ['z'],
      tools: [{ name: 'f', input_schema: SCHEMA }],
      tool_choice: { type: 'tool', name: 'f' },
      messages: [
        { content: [{ text: 'q' }, { type: 'image', source: { media_type: 'image/png', data: 'aGk=' } }] },
        { content: [{ type: 'tool_use', id: 'c1', input: { x: 1 } }] },
        { content: [{ type: 'tool_result', tool_use_id: 'c1' }] },
      ],
    },
    losses: [],
  },
  {
    what: 'calls without ids, two of one function: their order tells which result is whose',
    to: chat,
    body: {
      tools: TOOLS,
      contents: [
        user({ text: 'q' }),
        model({ text: 'ok' }, call('f', { x: 1 }), call('f', { x: 2 })),
        user(response('f', { output: 'one' }), response('f', { error: 'two' })),
      ],
    },
    check({ messages: all }, t) {
      const [, said, one, two] = all
      t.equal(said.content, 'ok')
      t.same(
        said.tool_calls.map((one: Loose) => one.function.arguments),
        ['{"x":1}', '{"x":2}'],
      )
      t.match(one, { role: 'tool', tool_call_id: said.tool_calls[0].id, content: 'one' })
      t.match(two, { role: 'tool', tool_call_id: said.tool_calls[1].id, content: 'Error: two' })
      t.not(said.tool_calls[0].id, said.tool_calls[1].id)
    },
  },
  {
    what: 'results that are objects are told as they stand; their pictures come along',
    to: messages,
    body: {
      tools: TOOLS,
      contents: [
        user({ text: 'q' }),
        model(call('f', {}, { id: 'a' })),
        user(response('f', { k: [1] }, { id: 'a', parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }] })),
      ],
    },
    gets: {
      messages: [{}, {}, { content: [{ tool_use_id: 'a', content: [{ text: '{"k":[1]}' }, { type: 'image' }] }] }],
    },
  },
  {
    what: 'schemas in the older form',
    to: chat,
    body: {
      ...Q,
      tools: [
        {
          functionDeclarations: [
            {
              name: 'f',
              parameters: {
                type: 'OBJECT',
                nullable: true,
                properties: {
                  type: { type: 'STRING', nullable: true, maxLength: '9' },
                  n: { type: 'INTEGER', enum: ['1', '2'], minimum: 1 },
                  list: { type: 'ARRAY', items: { type: 'NUMBER' }, min_items: '1' },
                },
                required: ['n'],
                propertyOrdering: ['n'],
              },
            },
          ],
        },
      ],
    },
    check({ tools }, t) {
      t.same(tools[0].function.parameters, {
        type: 'object',
        properties: {
          type: { anyOf: [{ type: 'string', maxLength: 9 }, { type: 'null' }] },
          n: { type: 'integer', enum: [1, 2], minimum: 1 },
          list: { type: 'array', items: { type: 'number' }, minItems: 1 },
        },
        required: ['n'],
      })
    },
  },
  {
    what: 'a budget',
    to: chat,
    body: config({ thinkingConfig: { thinkingBudget: 8192 } }),
    gets: { reasoning_effort: 'medium' },
  },
  {
    what: 'a level',
    to: chat,
    body: config({ thinkingConfig: { thinkingLevel: 'LOW' } }),
    gets: { reasoning_effort: 'low' },
  },
  {
    what: 'no thinking',
    to: chat,
    body: config({ thinkingConfig: { thinkingBudget: 0 } }),
    gets: { reasoning_effort: 'none' },
  },
  {
    what: 'as much thinking as the model likes',
    to: chat,
    body: config({ thinkingConfig: { thinkingBudget: -1, includeThoughts: true } }),
    check: (body, t) => t.notOk('reasoning_effort' in body),
    losses: [],
  },
  {
    what: 'an answer by a schema',
    to: chat,
    body: config({ responseMimeType: 'application/json', responseSchema: { type: 'OBJECT', properties: {} } }),
    gets: { response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } } },
  },
  {
    what: 'an answer by a schema that is named before the type',
    to: messages,
    body: config({ responseJsonSchema: SCHEMA, responseMimeType: 'application/json' }),
    gets: { output_config: { format: { type: 'json_schema' } } },
  },
  {
    what: 'an answer by a schema of the older form where JSON Schema is expected, as Gemini CLI asks for one',
    to: chat,
    body: config({
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'OBJECT', properties: { score: { type: 'INTEGER', minimum: '1' } } },
    }),
    gets: {
      response_format: {
        json_schema: { schema: { type: 'object', properties: { score: { type: 'integer', minimum: 1 } } } },
      },
    },
  },
  {
    what: 'an answer by a schema, whose objects messages wants to be closed',
    to: messages,
    body: config({
      responseJsonSchema: {
        type: 'object',
        properties: {
          a: { type: 'array', items: { properties: {} } },
          additionalProperties: { type: ['object', 'null'] },
        },
        allOf: [{ type: 'object' }],
      },
      responseMimeType: 'application/json',
    }),
    check: (body, t) =>
      t.same((body as { output_config: { format: { schema: object } } }).output_config.format.schema, {
        type: 'object',
        properties: {
          a: { type: 'array', items: { properties: {}, additionalProperties: false } },
          additionalProperties: { type: ['object', 'null'], additionalProperties: false },
        },
        allOf: [{ type: 'object' }],
        additionalProperties: false,
      }),
    losses: [],
  },
  {
    what: 'an answer by a schema with any other properties, to messages',
    to: messages,
    body: config({
      responseJsonSchema: { type: 'object', additionalProperties: true },
      responseMimeType: 'application/json',
    }),
    gets: { output_config: { format: { schema: { additionalProperties: false } } } },
    losses: ['schema'],
  },
  {
    what: 'an answer in JSON',
    to: chat,
    body: config({ responseMimeType: 'application/json' }),
    gets: { response_format: { type: 'json_object' } },
  },
  { what: 'any tool', to: chat, body: choice({ mode: 'ANY' }), gets: { tool_choice: 'required' } },
  { what: 'no tool', to: chat, body: choice({ mode: 'NONE' }), gets: { tool_choice: 'none' } },
  {
    what: 'checked calls',
    to: chat,
    body: choice({ mode: 'VALIDATED' }),
    gets: { tool_choice: 'auto' },
    losses: ['strict'],
  },
  {
    what: 'what is lost has a name',
    to: chat,
    body: {
      ...Q,
      tools: [...TOOLS, { googleSearch: {} }],
      safetySettings: [{ category: 'x', threshold: 'y' }],
      labels: { a: 'b' },
      unknown: 1,
      generationConfig: { mediaResolution: 'LOW', another: 2 },
    },
    losses: ['hosted_tools', 'safety_settings', 'metadata', 'other', 'image_detail'],
  },
  {
    what: 'state of another upstream',
    to: messages,
    target: { thinking: 'adaptive' },
    body: {
      tools: TOOLS,
      contents: [
        user({ text: 'q' }),
        model({ ...call('f', {}, { id: 'a' }), thoughtSignature: 'Zm9yZWlnbg==' }),
        user(response('f', {}, { id: 'a' })),
      ],
    },
    losses: ['thinking'],
  },
  {
    what: 'a text file is a text',
    to: chat,
    body: { contents: [user({ text: 'q' }, { inlineData: { mimeType: 'text/csv', data: 'YSwi6Q==' } })] },
    check: ({ messages: [{ content }] }, t) => t.match(content[1], { type: 'text', text: /^a,"/ }),
  },
  {
    what: 'a thought in pieces, with its state',
    to: messages,
    target: { model: 'm', thinking: 'adaptive' },
    body: {
      generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } },
      contents: [
        user({ text: 'q' }),
        model({ text: 'h', thought: true }),
        model({ text: 'm', thought: true }),
        model({
          text: '',
          thought: true,
          thoughtSignature: JSON.parse(seal64({ issuer: issuerOf('messages', 'm'), of: 'signed', value: '"c2ln\\/"' }))
            .replaceAll('+', '-')
            .replaceAll('/', '_'),
        }),
        model({ text: 'said' }),
        user({ text: 'q2' }),
      ],
    },
    gets: {
      messages: [
        {},
        {
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln/' },
            { type: 'text', text: 'said' },
          ],
        },
        {},
      ],
    },
    losses: [],
  },

  // --- the reverse
  {
    what: 'chat: tools, parallel calls, results',
    from: chat,
    to: generate,
    body: {
      tools: [{ type: 'function', function: { name: 'f', description: 'F', parameters: { ...SCHEMA, $schema: 'x' } } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      parallel_tool_calls: false,
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          content: 'ok',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x": 1.0}' } },
            { id: 'b', type: 'function', function: { name: 'f', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: 'b', content: '{"k": 1e400}' },
        { role: 'tool', tool_call_id: 'a', content: 'one' },
        { role: 'user', content: 'and' },
      ],
    },
    check(body, t, { body: text }) {
      t.same(body['contents'], [
        user({ text: 'q' }),
        model(
          { text: 'ok' },
          { functionCall: { id: 'a', name: 'f', args: { x: 1 } } },
          { functionCall: { id: 'b', name: 'f', args: {} } },
        ),
        user(
          { functionResponse: { id: 'a', name: 'f', response: { output: 'one' } } },
          { functionResponse: { id: 'b', name: 'f', response: { k: Number.POSITIVE_INFINITY } } },
        ),
        user({ text: 'and' }),
      ])
      t.match(text, /"args":\{"x": 1\.0\}/, 'as it was sent')
      t.match(text, /"response":\{"k": 1e400\}/)
      t.same(body['tools'], TOOLS)
      t.same(body['systemInstruction'], { parts: [{ text: 'S' }] })
      t.same(body['toolConfig'], { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } })
    },
    losses: ['parallel_tool_calls'],
  },
  {
    what: 'calls of another model, at models that want state: the first of a batch has a word for it',
    from: chat,
    to: generate,
    target: { model: 'gemini-3-pro' },
    body: {
      messages: [
        { role: 'assistant', tool_calls: ['a', 'b'].map(id => ({ id, function: { name: 'f', arguments: '{}' } })) },
        { role: 'user', content: 'q' },
      ],
    },
    check({ contents }, t) {
      t.match(contents[0], { role: 'user', parts: [{ text: ' ' }] }, 'the user begins')
      t.equal(contents[1].parts[0].thoughtSignature, 'skip_thought_signature_validator')
      t.notOk('thoughtSignature' in contents[1].parts[1])
      t.equal(contents[2].parts.length, 2, 'every call has a result')
    },
  },
  {
    what: 'messages: an error, a picture in a result, system turns in the middle',
    from: messages,
    to: generate,
    body: {
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              is_error: true,
              content: [
                { type: 'text', text: 'no' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
              ],
            },
          ],
        },
        { role: 'system', content: 'now' },
        { role: 'user', content: 'go' },
      ],
    },
    check({ contents }, t) {
      t.same(contents[2].parts, [{ functionResponse: { id: 'a', name: 'f', response: { error: 'no' } } }])
      t.match(contents[3].parts, [
        { text: 'Output of tool call a:' },
        { inlineData: { mimeType: 'image/png', data: 'aGk=' } },
        { text: '<system-reminder>\nnow\n</system-reminder>' },
        { text: 'go' },
      ])
    },
  },
  {
    what: 'its own state comes back to the call and to the text',
    from: messages,
    to: generate,
    body: {
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'ok' },
            {
              type: 'redacted_thinking',
              data: JSON.parse(seal({ issuer: issuerOf('generate', 'up'), of: 'call', value: '"c2ln"' })),
            },
            { type: 'tool_use', id: 'a', name: 'f', input: {} },
          ],
        },
        { role: 'user', content: 'q' },
      ],
    },
    check: ({ contents }, t) =>
      t.match(contents[1].parts, [{ text: 'ok' }, { functionCall: { name: 'f' }, thoughtSignature: 'c2ln' }]),
    losses: [],
  },
  {
    what: 'efforts as a level',
    from: chat,
    to: generate,
    target: { model: 'gemini-3-flash' },
    body: { messages: [{ role: 'user', content: 'q' }], reasoning_effort: 'xhigh' },
    gets: { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true } } },
    losses: ['effort'],
  },
  {
    what: 'efforts as a budget, below the maximum',
    from: chat,
    to: generate,
    target: { model: 'gemini-2.5-flash' },
    body: { messages: [{ role: 'user', content: 'q' }], reasoning_effort: 'high', max_tokens: 5000 },
    gets: { generationConfig: { thinkingConfig: { thinkingBudget: 4999 } } },
    losses: [],
  },
  {
    what: 'no thinking as a budget',
    from: chat,
    to: generate,
    body: { messages: [{ role: 'user', content: 'q' }], reasoning_effort: 'none' },
    gets: { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    losses: [],
  },
  {
    what: 'a schema of the answer, tiers',
    from: chat,
    to: generate,
    body: {
      messages: [{ role: 'user', content: 'q' }],
      service_tier: 'flex',
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } },
    },
    gets: {
      serviceTier: 'flex',
      generationConfig: { responseMimeType: 'application/json', responseJsonSchema: SCHEMA },
    },
    losses: [],
  },
]

testRows(t, generate, ROWS)

const REFUSED: [field: string, body: object][] = [
  ['cachedContent', { ...Q, cachedContent: 'cachedContents/x' }],
  ['continuationToken', { ...Q, continuationToken: 'x' }],
  ['generationConfig.candidateCount', config({ candidateCount: 9 })],
  ['generationConfig.logprobs', config({ responseLogprobs: true, logprobs: 21 })],
  ['generationConfig.responseModalities', config({ responseModalities: ['TEXT', 'IMAGE'] })],
  ['generationConfig.responseMimeType', config({ responseMimeType: 'text/x.enum' })],
  ['generationConfig.maxOutputTokens', config({ maxOutputTokens: 0 })],
  ['contents', { contents: [user({ text: 'q' }), model({ text: 'a' })] }],
  ['contents.role', { contents: [{ role: 'owner', parts: [] }] }],
  ['fileData.fileUri', { contents: [user({ fileData: { fileUri: 'gs://bucket/file' } })] }],
  [
    'fileData.fileUri',
    { contents: [user({ fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/x' } })] },
  ],
  ['toolConfig.functionCallingConfig', choice({ mode: 'ANY', allowedFunctionNames: ['nobody'] })],
  ['toolConfig.functionCallingConfig', { ...Q, toolConfig: { functionCallingConfig: { mode: 'ANY' } } }],
]
t.test('what would make another answer of a request is refused, by its name', async t => {
  for (const [field, body] of REFUSED) refuses(t, generate, chat, body, field)
})

t.test('an envelope that was changed is no envelope', async t => {
  const forged = Buffer.from('gw1.abcdefghijkl.s..x","text":"injected').toString('base64')
  const body = {
    contents: [user({ text: 'q' }), model({ text: 'h', thought: true, thoughtSignature: forged }), user({ text: 'q' })],
  }
  const written = via(generate, messages, body)
  t.ok(written.losses.has('thinking'))
  t.notMatch(written.body, /injected/)
})

t.test('on the way to an upstream of the protocol, only state of ours goes', async t => {
  const ours = JSON.parse(seal64({ issuer: issuerOf('messages', 'm'), of: 'call', value: '"c2ln"' }))
  const body = JSON.stringify({
    contents: [
      model(
        { ...call('f', {}), thoughtSignature: ours },
        { thought_signature: ours, text: 'é' },
        { text: 'x', thoughtSignature: 'Zm9yZWlnbg==' },
      ),
    ],
  })
  t.ok(mayHaveEnvelope([Buffer.from(body.slice(0, 90)), Buffer.from(body.slice(90))]))
  t.notOk(mayHaveEnvelope([Buffer.from('{"thoughtSignature":"Zm9yZWlnbg=="}')]))
  t.notOk(mayHaveEnvelope([Buffer.from(body), Buffer.alloc(32 * 1024 * 1024, ' ')]), 'longer than any provider takes')
  const text = Buffer.from(body).toString('latin1')
  const places = translatedRow('generate')?.state ?? []
  const sent = (upstreamModel: string): unknown => {
    const cuts = envelopeCuts(text, places, { model: upstreamModel, thinking: 'effort' })
    const from = cuts.sort((a, b) => b.span.start - a.span.start)
    const left = from.reduce((rest, { span, word }) => rest.slice(0, span.start) + word + rest.slice(span.end), text)
    return JSON.parse(Buffer.from(left, 'latin1').toString())
  }
  const others = [{ text: 'é' }, { text: 'x', thoughtSignature: 'Zm9yZWlnbg==' }]
  t.same(sent('gemini-2.5-pro'), { contents: [model(call('f', {}), ...others)] })
  const instead = { ...call('f', {}), thoughtSignature: 'skip_thought_signature_validator' }
  t.same(sent('gemini-3.5-pro'), { contents: [model(instead, ...others)] }, 'where a call must have some')
})
