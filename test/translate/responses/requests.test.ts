/** Requests of the responses protocol for upstreams of the others, and the reverse, each as a row. */
import t from 'tap'
import { issuerOf, seal } from '../../../lib/translate/opaque.ts'
import type { Loose } from '../support/answers.ts'
import { type Row, arrivesAsSent, bodyOf, refuses, testRows, via } from '../support/rows.ts'
import { chat, messages, responses } from '../support/protocols.ts'

const ASK = { input: 'q' }
const SCHEMA = { type: 'object', properties: { x: { type: 'number' } } }
const FUNCTION = { type: 'function', name: 'f', description: 'F', parameters: SCHEMA, strict: false }
const PATCH = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Patches.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
}
const CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"x": 1.0}' }
const OUTPUT = { type: 'function_call_output', call_id: 'call_1', output: 'r' }
const say = (role: string, ...content: object[]): object => ({ type: 'message', role, content })
const inText = (text: string): object => ({ type: 'input_text', text })
const PNG = 'data:image/png;base64,aGk='

const ROWS: Row[] = [
  {
    what: 'a text, instructions, a maximum',
    to: chat,
    body: { ...ASK, instructions: 'You are', max_output_tokens: 50, temperature: 0.5, top_p: 0.9, store: false },
    gets: {
      messages: [
        { role: 'system', content: 'You are' },
        { role: 'user', content: 'q' },
      ],
      max_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      stream_options: { include_usage: true },
    },
    losses: [],
  },
  {
    what: 'what Codex sends',
    to: messages,
    target: { thinking: 'adaptive' },
    body: {
      model: 'x',
      stream: true,
      input: [
        say('developer', inText('You are')),
        say('developer', inText('Rules')),
        say('user', inText('environment')),
        say('user', inText('q')),
      ],
      tools: [
        FUNCTION,
        PATCH,
        { type: 'web_search' },
        { type: 'namespace', name: 'mcp', description: 'Of mcp.', tools: [FUNCTION] },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'high', summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      text: { verbosity: 'low' },
      client_metadata: { a: 'b' },
    },
    gets: {
      system: [
        { type: 'text', text: 'You are' },
        { type: 'text', text: 'Rules' },
      ],
      messages: [{ role: 'user', content: [{ text: 'environment' }, { text: 'q' }] }],
      tools: [
        { name: 'f', description: 'F' },
        { name: 'apply_patch', description: /Patches[\s\S]*start: "x"/, input_schema: { required: ['input'] } },
        { name: 'mcp__f', description: 'Of mcp.\n\nF' },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    },
    losses: ['hosted_tools', 'tool_grammar', 'verbosity'],
  },
  {
    what: 'calls of all kinds with their results',
    to: chat,
    body: {
      tools: [FUNCTION, PATCH, { type: 'namespace', name: 'mcp', description: null, tools: [FUNCTION] }],
      input: [
        say('user', inText('q')),
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          phase: 'commentary',
          content: [{ type: 'output_text', text: 'I' }],
        },
        CALL,
        { ...CALL, id: 'fc_2', call_id: 'call_2', namespace: 'mcp' },
        { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_3', name: 'apply_patch', input: '*** "é"\n' },
        { type: 'custom_tool_call_output', call_id: 'call_3', output: 'done' },
        OUTPUT,
        { ...OUTPUT, call_id: 'call_2', output: [inText('seen'), { type: 'input_image', image_url: PNG }] },
        say('user', inText('go on')),
      ],
    },
    check(body, t) {
      const [, assistant, ...rest] = body['messages']
      t.equal(assistant.content, 'I')
      t.same(
        assistant.tool_calls.map((call: Loose) => [call['id'], call['function'].name, call['function'].arguments]),
        [
          ['call_1', 'f', '{"x": 1.0}'],
          ['call_2', 'mcp__f', '{"x": 1.0}'],
          ['call_3', 'apply_patch', JSON.stringify({ input: '*** "é"\n' })],
        ],
      )
      t.same(
        rest.slice(0, 3).map((one: Loose) => [one['role'], one['tool_call_id'], one['content']]),
        [
          ['tool', 'call_1', 'r'],
          ['tool', 'call_2', 'seen'],
          ['tool', 'call_3', 'done'],
        ],
      )
      t.match(rest[3].content, [{ text: /call_2/ }, { image_url: { url: PNG } }, { text: 'go on' }])
    },
    losses: ['tool_grammar'],
  },
  {
    what: 'tools that are declared in the conversation join the list, and the first declaration wins',
    to: chat,
    body: {
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [
            { ...FUNCTION, description: 'late' },
            { ...FUNCTION, name: 'g' },
          ],
        },
        { type: 'tool_search_output', tools: [{ ...FUNCTION, name: 'h', defer_loading: true }] },
        say('user', inText('q')),
      ],
      tools: [FUNCTION],
    },
    check(body, t) {
      t.same(
        body['tools'].map((tool: Loose) => `${tool['function'].name} ${tool['function'].description}`),
        ['f F', 'g F', 'h F'],
      )
    },
    losses: [],
  },
  {
    what: 'a tool in a namespace is forced without its namespace',
    to: chat,
    body: {
      ...ASK,
      tools: [{ type: 'namespace', name: 'n', tools: [FUNCTION] }],
      tool_choice: { type: 'function', name: 'f' },
    },
    gets: { tool_choice: { type: 'function', function: { name: 'n__f' } } },
  },
  {
    what: 'some tools are allowed',
    to: chat,
    body: {
      ...ASK,
      tools: [FUNCTION, { ...FUNCTION, name: 'g' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] },
    },
    gets: { tools: [{ function: { name: 'g' } }], tool_choice: 'required' },
  },
  {
    what: 'a developer in the middle, a refusal, files',
    to: messages,
    body: {
      input: [
        say('user', inText('q')),
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        { role: 'developer', content: 'Be kind' },
        say(
          'user',
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' },
          { type: 'input_file', file_url: 'https://x.test/b.pdf' },
          { type: 'input_image', image_url: 'https://x.test/a.png', detail: 'low' },
        ),
      ],
    },
    check(body, t) {
      t.match(body['messages'][1], { role: 'assistant', content: [{ type: 'text', text: 'No.' }] })
      t.match(body['messages'][2].content, [
        { type: 'document', title: 'a.pdf', source: { type: 'base64', data: 'aGk=' } },
        { type: 'document', source: { type: 'url', url: 'https://x.test/b.pdf' } },
        { type: 'image', source: { type: 'url' } },
        { text: /<system-reminder>\nBe kind/ },
      ])
    },
  },
  {
    what: 'a schema for the answer',
    to: chat,
    body: { ...ASK, text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA, strict: true } } },
    gets: { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA, strict: true } } },
    losses: [],
  },
  {
    what: 'efforts',
    to: chat,
    body: { ...ASK, reasoning: { effort: 'none' } },
    gets: { reasoning_effort: 'none' },
    losses: [],
  },
  {
    what: 'what has no place elsewhere is named',
    to: messages,
    body: {
      ...ASK,
      truncation: 'auto',
      max_tool_calls: 3,
      metadata: { a: 'b' },
      include: ['file_search_call.results'],
      text: { verbosity: 'high' },
      reasoning: { mode: 'pro' },
      context_management: [{ type: 'compaction' }],
      moderation: { model: 'm' },
      new_member: 1,
    },
    losses: [
      'context_management',
      'include',
      'max_tool_calls',
      'metadata',
      'moderation',
      'other',
      'truncation',
      'verbosity',
    ],
  },
  {
    what: 'items of tools that ran at an upstream are left out',
    to: messages,
    body: { input: [say('user', inText('q')), { type: 'web_search_call', id: 'ws_1', status: 'completed' }] },
    check: (body, t) => t.equal(body['messages'].length, 1),
    losses: ['server_tools'],
  },
  {
    what: 'chat: nothing is stored, tools are not strict, reasoning comes back',
    from: chat,
    to: responses,
    body: {
      messages: [
        { role: 'system', content: 'You are' },
        { role: 'user', content: 'q' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }],
      max_completion_tokens: 9,
      stop: ['x'],
      seed: 1,
      reasoning_effort: 'xhigh',
      prompt_cache_key: 'k'.repeat(80),
      response_format: { type: 'json_object' },
    },
    gets: {
      model: 'up',
      instructions: 'You are',
      input: [{ type: 'message', role: 'user', content: 'q' }],
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'f', parameters: SCHEMA, strict: false }],
      max_output_tokens: 16,
      reasoning: { effort: 'xhigh' },
      prompt_cache_key: 'k'.repeat(64),
      text: { format: { type: 'json_object' } },
    },
    check: (body, t) => t.notOk('stop' in body || 'seed' in body || 'stream_options' in body),
    losses: ['max_output', 'seed', 'stop'],
  },
  {
    what: 'messages: a round of tools',
    from: messages,
    to: responses,
    body: {
      max_tokens: 100,
      system: [{ type: 'text', text: 'You are' }],
      tools: [{ name: 'f', input_schema: SCHEMA }],
      tool_choice: { type: 'any' },
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { x: 1 } },
            { type: 'tool_use', id: 'toolu_2', name: 'f', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'and' },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'bad', is_error: true },
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }],
            },
          ],
        },
      ],
    },
    check(body, t) {
      t.match(body['input'], [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: 'I' },
        { type: 'function_call', call_id: 'toolu_1', arguments: '{"x":1}' },
        { type: 'function_call', call_id: 'toolu_2', arguments: '{}' },
        { type: 'function_call_output', call_id: 'toolu_1', output: [{ type: 'input_image', image_url: PNG }] },
        { type: 'function_call_output', call_id: 'toolu_2', output: 'Error: bad' },
        { role: 'user', content: 'and' },
      ])
      t.equal(body['tool_choice'], 'required')
    },
    losses: [],
  },
  {
    what: 'chat: tools that take text, in the declaration, the choice and the history',
    from: chat,
    to: responses,
    body: {
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'p', input: 'x' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'r' },
      ],
      tools: [
        {
          type: 'custom',
          custom: { name: 'p', format: { type: 'grammar', grammar: { syntax: 'regex', definition: 'x' } } },
        },
      ],
      tool_choice: { type: 'custom', custom: { name: 'p' } },
    },
    gets: {
      tools: [{ type: 'custom', name: 'p', format: { type: 'grammar', syntax: 'regex', definition: 'x' } }],
      tool_choice: { type: 'custom', name: 'p' },
      input: [
        {},
        { type: 'custom_tool_call', call_id: 'a', name: 'p', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'a', output: 'r' },
      ],
    },
    losses: [],
  },
  {
    what: 'a model that does not think is not asked for its thoughts',
    from: messages,
    to: responses,
    target: { thinking: 'none' },
    body: {
      max_tokens: 100,
      thinking: { type: 'adaptive', display: 'summarized' },
      messages: [{ role: 'user', content: 'q' }],
    },
    check: (body, t) => t.notOk('include' in body || 'reasoning' in body),
  },
  {
    what: 'summaries are for those who want to see thoughts',
    from: messages,
    to: responses,
    body: {
      max_tokens: 100,
      thinking: { type: 'adaptive', display: 'summarized' },
      messages: [{ role: 'user', content: 'q' }],
    },
    gets: { reasoning: { summary: 'auto' } },
  },
]

testRows(t, responses, ROWS)

const REFUSED: [body: object, field: RegExp][] = [
  [{ ...ASK, previous_response_id: 'resp_1' }, /^previous_response_id$/],
  [{ ...ASK, conversation: 'conv_1' }, /^conversation$/],
  [{ ...ASK, prompt: { id: 'p' } }, /^prompt$/],
  [{ ...ASK, background: true }, /^background$/],
  [{ ...ASK, top_logprobs: 21 }, /^top_logprobs$/],
  [{ ...ASK, tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }, /^tool_choice$/],
  [{ ...ASK, tools: [{ type: 'web_search' }], tool_choice: 'required' }, /^tool_choice$/],
  [{ ...ASK, tools: [FUNCTION], tool_choice: { type: 'function', name: 'gone' } }, /^tool_choice$/],
  [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, /^input.item_reference$/],
  [{ input: [{ id: 'msg_1' }] }, /^input.item_reference$/],
  [{ input: [say('user', inText('q')), { type: 'compaction_trigger' }] }, /^input.compaction_trigger$/],
  [{ input: [{ type: 'compaction', encrypted_content: 'x' }] }, /^input.compaction$/],
  [{ input: [say('user', { type: 'input_image', file_id: 'f' })] }, /^file_id$/],
  [{ input: [say('user', { type: 'input_file', file_id: 'f' })] }, /^file_id$/],
  [{ input: [say('user', { type: 'input_audio', data: 'x' })] }, /^input.content.input_audio$/],
  [{ input: [say('tool', inText('q'))] }, /^input.role$/],
]

t.test('what would make another answer of a request is refused, by its name', async t => {
  for (const [body, field] of REFUSED) refuses(t, responses, chat, body, field)
  const audio = { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } }
  refuses(t, chat, responses, { messages: [{ role: 'user', content: [audio] }] }, 'audio')
})

t.test('an upstream gets its own reasoning back, and nobody else does', async t => {
  const issuer = issuerOf('responses', 'up')
  const state = { issuer, of: 'signed', value: '"gAAA+/=="', id: 'rs_1' } as const
  const thinking = { type: 'thinking', thinking: 'hm', signature: JSON.parse(seal(state)) }
  const call = { type: 'tool_use', id: 'c', name: 'f', input: {} }
  const body = {
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: [thinking, call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] },
    ],
  }
  const own = via(messages, responses, body)
  t.match(bodyOf(own)['input'][1], {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'hm' }],
    encrypted_content: 'gAAA+/==',
  })
  const other = via(messages, responses, body, { model: 'other' })
  t.equal(bodyOf(other)['input'][1].type, 'function_call')
  t.ok(other.losses.has('thinking'))
})

t.test('reasoning with nothing behind it is left out, because the upstream would refuse it', async t => {
  const state = { issuer: issuerOf('responses', 'up'), of: 'hidden', value: '"x"' } as const
  const reasoning = { type: 'reasoning', summary: [], encrypted_content: JSON.parse(seal(state)) }
  const body = { input: [say('user', inText('q')), reasoning, say('user', inText('again'))] }
  const written = via(responses, responses, body)
  t.notMatch(written.body, /reasoning"/)
  t.ok(written.losses.has('thinking'))
})

t.test('what has no place in a parser arrives as it was sent', async t => arrivesAsSent(t, responses))

const MANY = 10_000

t.test('requests that are made to take long do not', async t => {
  const many = <T>(make: (n: number) => T): T[] => Array.from({ length: MANY }, (_, n) => make(n))
  const bodies = [
    { input: many(() => ({ type: 'additional_tools', tools: [FUNCTION] })) },
    { input: [...many(() => CALL), ...many(() => OUTPUT)] },
    { input: [...many(n => ({ ...CALL, call_id: `c${n}` })), ...many(n => ({ ...OUTPUT, call_id: `c${MANY - n}` }))] },
    {
      ...ASK,
      tools: many(n => ({ ...FUNCTION, name: `f${n}` })),
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: many(n => ({ type: 'function', name: `f${MANY - n}` })),
      },
    },
    { input: many(() => say('developer', inText('x'))) },
    { input: many(() => say('user', inText(' '.repeat(500)))) },
  ]
  for (const body of bodies)
    for (const to of [chat, messages, responses]) t.doesNotThrow(() => via(responses, to, body))
})
