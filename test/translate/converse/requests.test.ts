/** Requests of every protocol's clients at Converse, AWS Bedrock: system, tools, toolResult, cachePoint, images, documents, reasoning. */
import t from 'tap'
import type { TranslationTarget } from '../../../lib/translate/ask.ts'
import { issuerOf, seal } from '../../../lib/translate/opaque.ts'
import type { Translated } from '../../../lib/translate/table.ts'
import { converse } from '../support/converse.ts'
import { chat, generate, messages, responses } from '../support/protocols.ts'
import { bodyOf, type Row, refuses, testRows, via } from '../support/rows.ts'

const CLAUDE: Partial<TranslationTarget> = { model: 'eu.anthropic.claude-sonnet-4-6', thinking: 'adaptive' }
const NOVA: Partial<TranslationTarget> = { model: 'us.amazon.nova-2-lite-v1:0' }
const LLAMA: Partial<TranslationTarget> = { model: 'meta.llama4-maverick-17b-instruct-v1:0' }
const MISTRAL: Partial<TranslationTarget> = {
  model: 'arn:aws:bedrock:us-east-1:1:inference-profile/mistral.mistral-large-3',
}
const OPEN: Partial<TranslationTarget> = { model: 'openai.gpt-oss-120b-1:0' }

const PNG = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
const paper = (title?: string, data = 'cGRm') => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data },
  ...(title === undefined ? {} : { title }),
})
const USE = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1.5 } }
const TOOL = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: { at: {} } } }
const MARK = { cache_control: { type: 'ephemeral' } }
const LONG = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const talk = (...content: unknown[]) =>
  content.map((one, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: one }))
const ask = (body: object) => ({ max_tokens: 100, messages: talk('Hi'), ...body })
const result = (content: unknown, more: object = {}) => [
  { type: 'tool_result', tool_use_id: 'toolu_1', content, ...more },
]

const ROWS: Row[] = [
  {
    what: 'a whole conversation with Claude: marks become cache points behind what they mark',
    to: converse,
    target: CLAUDE,
    body: ask({
      system: [{ type: 'text', text: 'Be kind.', ...LONG }],
      tools: [{ ...TOOL, ...MARK }],
      tool_choice: { type: 'tool', name: 'look' },
      temperature: 0.5,
      top_k: 5,
      stop_sequences: ['END'],
      messages: talk(
        [{ type: 'text', text: 'See', ...MARK }, PNG],
        [USE],
        [
          ...result([{ type: 'text', text: 'seen' }, PNG], { is_error: true }),
          { type: 'text', text: 'Go on', ...MARK },
        ],
      ),
    }),
    check(body, t) {
      t.strictSame(body, {
        messages: [
          {
            role: 'user',
            content: [
              { text: 'See' },
              { cachePoint: { type: 'default' } },
              { image: { format: 'png', source: { bytes: 'aGk=' } } },
            ],
          },
          { role: 'assistant', content: [{ toolUse: { toolUseId: 'toolu_1', name: 'look', input: { at: 1.5 } } }] },
          {
            role: 'user',
            content: [
              {
                toolResult: {
                  toolUseId: 'toolu_1',
                  content: [{ text: 'seen' }, { image: { format: 'png', source: { bytes: 'aGk=' } } }],
                  status: 'error',
                },
              },
              { text: 'Go on' },
              { cachePoint: { type: 'default' } },
            ],
          },
        ],
        system: [{ text: 'Be kind.' }, { cachePoint: { type: 'default', ttl: '1h' } }],
        inferenceConfig: { maxTokens: 100, temperature: 0.5, stopSequences: ['END'] },
        toolConfig: {
          tools: [
            { toolSpec: { name: 'look', description: 'Looks.', inputSchema: { json: TOOL.input_schema } } },
            { cachePoint: { type: 'default' } },
          ],
          toolChoice: { tool: { name: 'look' } },
        },
        additionalModelRequestFields: { top_k: 5 },
        additionalModelResponseFieldPaths: ['/delta/stop_sequence'],
      })
    },
    losses: [],
  },
  {
    what: 'a mark at the top stands behind the last turn of the user',
    to: converse,
    target: CLAUDE,
    body: ask({ messages: talk('a', 'b', 'c'), ...LONG }),
    gets: { messages: [{}, {}, { content: [{ text: 'c' }, { cachePoint: { type: 'default', ttl: '1h' } }] }] },
    losses: [],
  },
  {
    what: 'models of other makers: errors are words, and what a result shows stands behind all results',
    to: converse,
    target: LLAMA,
    body: ask({ tools: [TOOL], messages: talk('q', [USE], result([PNG], { is_error: true })) }),
    gets: {
      messages: [
        {},
        {},
        {
          content: [
            { toolResult: { toolUseId: 'toolu_1', content: [{ text: '(no output)' }], status: undefined } },
            { text: 'Output of tool call toolu_1:' },
            { image: { format: 'png' } },
          ],
        },
      ],
    },
  },
  {
    what: 'an error that is text',
    to: converse,
    target: LLAMA,
    body: ask({ tools: [TOOL], messages: talk('q', [USE], result('no', { is_error: true })) }),
    gets: { messages: [{}, {}, { content: [{ toolResult: { content: [{ text: 'Error: no' }] } }] }] },
    losses: [],
  },
  {
    what: 'ids of calls that Mistral takes, in a call and its result',
    from: chat,
    to: converse,
    target: MISTRAL,
    body: {
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'call_abc', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_abc', content: 'r' },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }],
    },
    check({ messages: [, call, answer] }, t) {
      const { toolUseId } = call.content[0].toolUse
      t.match(toolUseId, /^[A-Za-z0-9]{9}$/)
      t.equal(answer.content[0].toolResult.toolUseId, toolUseId)
    },
  },
  {
    what: 'calls in the history of tools that are not offered any more: Converse wants to know the tools',
    to: converse,
    target: CLAUDE,
    body: ask({ messages: talk('q', [USE], result('r'), 'done', 'thanks') }),
    gets: { toolConfig: { tools: [{ toolSpec: { name: 'look', inputSchema: { json: { type: 'object' } } } }] } },
    losses: ['other'],
  },
  {
    what: 'no tool shall be called, and none was: there are none',
    to: converse,
    target: CLAUDE,
    body: ask({ tools: [TOOL], tool_choice: { type: 'none' } }),
    gets: { toolConfig: undefined },
    losses: [],
  },
  {
    what: 'no tool shall be called, and one was before',
    to: converse,
    target: CLAUDE,
    body: ask({ tools: [TOOL], tool_choice: { type: 'none' }, messages: talk('q', [USE], result('r')) }),
    gets: { toolConfig: { tools: [{ toolSpec: { name: 'look' } }], toolChoice: undefined } },
    losses: ['tool_choice'],
  },
  {
    what: 'names of documents: signs that are not known, the same name twice, none at all; and a word beside them',
    to: converse,
    target: CLAUDE,
    body: ask({ messages: talk([paper("John's  report"), paper('a', 'YQ=='), paper('a', 'Yg=='), paper()]) }),
    gets: {
      messages: [
        {
          content: [
            { document: { format: 'pdf', name: 'John-s report', source: { bytes: 'cGRm' } } },
            { document: { name: 'a' } },
            { document: { name: 'a (2)' } },
            { document: { name: 'document' } },
            { text: '.' },
          ],
        },
      ],
    },
    losses: ['documents'],
  },
  {
    what: 'a document that is text',
    to: converse,
    target: CLAUDE,
    body: ask({
      messages: talk([
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' } },
        { type: 'text', text: 'q' },
      ]),
    }),
    gets: { messages: [{ content: [{ document: { format: 'txt', source: { text: 'words' } } }, { text: 'q' }] }] },
    losses: [],
  },
  {
    what: 'Claude thinks as hard as asked, and cannot be told which tool to call then',
    to: converse,
    target: CLAUDE,
    body: ask({
      max_tokens: 5000,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      temperature: 1,
      tools: [TOOL],
      tool_choice: { type: 'any' },
    }),
    gets: {
      additionalModelRequestFields: { thinking: { type: 'adaptive' } },
      outputConfig: { effort: 'high' },
      inferenceConfig: { maxTokens: 5000, temperature: undefined },
      toolConfig: { toolChoice: { auto: {} } },
    },
    losses: ['temperature', 'tool_choice'],
  },
  {
    what: 'an older Claude thinks by a budget, which stays below the maximum',
    from: chat,
    to: converse,
    target: { ...CLAUDE, thinking: 'budget' },
    body: { messages: [{ role: 'user', content: 'q' }], max_tokens: 3000, reasoning_effort: 'high' },
    gets: {
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2999 } },
      outputConfig: undefined,
    },
  },
  {
    what: 'Nova thinks by levels, at the highest only without a maximum',
    from: chat,
    to: converse,
    target: NOVA,
    body: { messages: [{ role: 'user', content: 'q' }], max_tokens: 3000, reasoning_effort: 'high' },
    gets: {
      additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } },
      inferenceConfig: { maxTokens: 3000 },
    },
    losses: ['effort'],
  },
  {
    what: 'Nova at its highest',
    from: chat,
    to: converse,
    target: NOVA,
    body: { messages: [{ role: 'user', content: 'q' }], reasoning_effort: 'high' },
    gets: {
      additionalModelRequestFields: { reasoningConfig: { maxReasoningEffort: 'high' } },
      inferenceConfig: undefined,
    },
    losses: [],
  },
  {
    what: 'an open model of OpenAI',
    from: responses,
    to: converse,
    target: OPEN,
    body: { input: 'q', reasoning: { effort: 'low' }, max_output_tokens: 50 },
    gets: { additionalModelRequestFields: { reasoning_effort: 'low' }, inferenceConfig: { maxTokens: 50 } },
    losses: [],
  },
  {
    what: 'nobody knows how to tell other models',
    from: generate,
    to: converse,
    target: LLAMA,
    body: {
      contents: [{ role: 'user', parts: [{ text: 'q' }] }],
      generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' }, topK: 3, seed: 4 },
    },
    gets: { additionalModelRequestFields: undefined },
    losses: ['seed', 'thinking', 'top_k'],
  },
  {
    what: 'an answer by a schema, whose text stands in a text',
    from: chat,
    to: converse,
    target: CLAUDE,
    body: {
      messages: [{ role: 'user', content: 'q' }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', schema: { type: 'object', properties: { a: { type: 'string' } } } },
      },
    },
    check({ outputConfig: { textFormat } }, t) {
      t.match(textFormat, { type: 'json_schema', structure: { jsonSchema: { name: 'n' } } })
      t.strictSame(JSON.parse(textFormat.structure.jsonSchema.schema), {
        type: 'object',
        properties: { a: { type: 'string' } },
        additionalProperties: false,
      })
    },
    losses: [],
  },
  {
    what: 'an answer in JSON is asked for in words',
    from: chat,
    to: converse,
    target: LLAMA,
    body: { messages: [{ role: 'user', content: 'q' }], response_format: { type: 'json_object' } },
    gets: { system: [{ text: 'Answer with one JSON object and nothing else.' }] },
    losses: [],
  },
  {
    what: 'system turns in the middle, and turns of which nothing is left: roles alternate',
    to: converse,
    target: CLAUDE,
    body: ask({
      messages: [
        { role: 'assistant', content: 'first' },
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'of another' }] },
        { role: 'user', content: 'b' },
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: '  ' },
      ],
    }),
    check({ messages: turns }, t) {
      t.strictSame(
        turns.map(({ role }: { role: string }) => role),
        ['user', 'assistant', 'user'],
      )
      t.match(turns[2].content, [{ text: 'a' }, { text: 'b' }, { text: /<system-reminder>\nBe brief/ }])
    },
    losses: ['thinking'],
  },
  {
    what: 'a class of service',
    from: chat,
    to: converse,
    target: NOVA,
    body: { messages: [{ role: 'user', content: 'q' }], service_tier: 'flex' },
    gets: { serviceTier: { type: 'flex' } },
    losses: [],
  },
  {
    what: 'one that Converse does not have, and tools of which only one may be called, strictly',
    from: chat,
    to: converse,
    target: NOVA,
    body: {
      messages: [{ role: 'user', content: 'q' }],
      service_tier: 'scale',
      parallel_tool_calls: false,
      tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: { type: 'object' } } }],
      presence_penalty: 1,
    },
    gets: { serviceTier: undefined },
    losses: ['parallel_tool_calls', 'penalties', 'service_tier', 'strict'],
  },
]

testRows(t, messages, ROWS)

t.test('an upstream gets its own thoughts back, and no other model does', async t => {
  const issuer = issuerOf('converse', CLAUDE.model as string)
  const thought = (of: 'signed' | 'hidden', value: string) => JSON.parse(seal({ issuer, of, value }))
  const body = ask({
    max_tokens: 5000,
    thinking: { type: 'adaptive' },
    tools: [TOOL],
    messages: talk(
      'q',
      [
        { type: 'thinking', thinking: 'hm', signature: thought('signed', '"c2ln"') },
        { type: 'redacted_thinking', data: thought('hidden', '"aGlk"') },
        USE,
      ],
      result('r'),
    ),
  })
  const own = via(messages, converse, body, CLAUDE)
  t.match(bodyOf(own)['messages'][1].content, [
    { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
    { reasoningContent: { redactedContent: 'aGlk' } },
    { toolUse: {} },
  ])
  t.match(bodyOf(own)['additionalModelRequestFields'], { thinking: { type: 'adaptive' } })
  const other = via(messages, converse, body, { ...CLAUDE, model: 'anthropic.claude-other' })
  t.match(bodyOf(other)['messages'][1].content, [{ toolUse: {} }])
  t.match(bodyOf(other)['additionalModelRequestFields'], { thinking: { type: 'disabled' } })
  t.ok(other.losses.has('thinking'))
})

t.test('what Converse cannot say is refused by name', async t => {
  const picture = (url: string) => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  })
  refuses(t, chat, converse, picture('https://a.test/b.png'), 'image.url')
  refuses(t, chat, converse, picture('data:image/tiff;base64,aGk='), 'image')
  refuses(
    t,
    messages,
    converse,
    ask({ messages: talk([{ type: 'document', source: { type: 'url', url: 'https://a.test/b.pdf' } }]) }),
    'document.url',
  )
})

t.test('arguments and schemas arrive as they were sent', async t => {
  const input = '{"a": 1.0,"b":12345678901234567890,"c":1e400,"__proto__":{"x":1},"2":1,"1":"\\ud800 \\u00e9 é \\/"}'
  const text = '"é \\ud83d\\ude00 \\/ 😀"'
  const body = `{"max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object","default":${input}}}],"messages":[{"role":"user","content":${text}},
    {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":${text}}]}]}`
  const there = Buffer.from(via(messages, converse, body, CLAUDE).body, 'latin1').toString()
  for (const part of [`"text":${text}`, `"default":${input}`, `"input":${input}`]) t.ok(there.includes(part), part)
})

t.test('what is written is what the provider takes, from every protocol and for every maker', async t => {
  const bodies: readonly [Translated, object][] = [
    [messages, ask({ messages: talk([paper('x')], [USE], result([]), 'ok', '') })],
    [
      chat,
      {
        messages: [
          { role: 'system', content: 's' },
          { role: 'assistant', content: null },
          { role: 'user', content: '' },
        ],
      },
    ],
    [
      responses,
      {
        input: [
          { role: 'developer', content: 'd' },
          { type: 'function_call_output', call_id: 'x', output: 'r' },
        ],
      },
    ],
    [
      generate,
      {
        contents: [
          { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
          { role: 'user', parts: [{ text: 'q' }] },
        ],
      },
    ],
  ]
  for (const { model } of [CLAUDE, NOVA, LLAMA, MISTRAL, OPEN])
    for (const [client, body] of bodies) {
      const { body: text } = via(client, converse, body, { model: model as string })
      t.doesNotThrow(() => converse.readRequest(Buffer.from(text, 'latin1'), { model: 'm', stream: false }), text)
    }
})
