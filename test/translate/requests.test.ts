/** What peers get wrong in requests, each as a row: what a client sends, and what an upstream of another protocol gets. */
import t from 'tap'
import { issuerOf, seal } from '../../lib/translate/opaque.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { type Row, arrivesAsSent, bodyOf, refuses, testRows, via } from './support/rows.ts'
import { chat, messages } from './support/protocols.ts'

const ASK = { max_tokens: 100, messages: [{ role: 'user', content: 'q' }] }
const TOOL = { name: 'f', input_schema: { type: 'object' } }
const FUNCTION = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }
const USE = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const RESULT = (tool_use_id: string, content: unknown = 'r', more: object = {}) => ({
  type: 'tool_result',
  tool_use_id,
  content,
  ...more,
})
const PNG = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
const ATTRIBUTION = {
  type: 'text',
  text: 'x-anthropic-billing-header: cc_version=2.1.84.c8e; cc_entrypoint=cli; cch=36ee5;',
}

const talk = (...turns: [role: string, content: unknown][]): object => ({
  ...ASK,
  messages: turns.map(([role, content]) => ({ role, content })),
})

const ROWS: Row[] = [
  {
    what: 'the attribution line is dropped, and nothing else that is said first',
    from: messages,
    to: chat,
    body: { ...ASK, system: [ATTRIBUTION, { type: 'text', text: 'You are' }, { type: 'text', text: 'cc_version=1' }] },
    gets: {
      messages: [
        { role: 'system', content: 'You are\n\ncc_version=1' },
        { role: 'user', content: 'q' },
      ],
    },
    losses: [],
  },
  {
    what: 'an attribution line with a prompt behind it',
    from: messages,
    to: chat,
    body: { ...ASK, system: [{ type: 'text', text: `${ATTRIBUTION.text}\nYou are` }] },
    gets: { messages: [{ role: 'system', content: 'You are' }, {}] },
  },
  {
    what: 'results of parallel calls stand behind their calls, in the order of the calls, before any text',
    from: messages,
    to: chat,
    body: talk(
      ['user', 'q'],
      ['assistant', [{ type: 'text', text: 'I' }, USE('a'), USE('b')]],
      ['user', [{ type: 'text', text: 'and' }, RESULT('b', 'rb'), RESULT('a', 'ra')]],
    ),
    gets: {
      messages: [
        {},
        { role: 'assistant', content: 'I', tool_calls: [{ id: 'a' }, { id: 'b' }] },
        { role: 'tool', tool_call_id: 'a', content: 'ra' },
        { role: 'tool', tool_call_id: 'b', content: 'rb' },
        { role: 'user', content: 'and' },
      ],
    },
  },
  {
    what: 'results in messages of their own become one turn, in the order of the calls',
    from: chat,
    to: messages,
    body: {
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          content: null,
          tool_calls: ['a', 'b'].map(id => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
        },
        { role: 'tool', tool_call_id: 'b', content: 'rb' },
        { role: 'tool', tool_call_id: 'a', content: 'ra' },
        { role: 'user', content: 'and' },
      ],
    },
    check: (body, t) => {
      t.equal(body['messages'].length, 3)
      t.match(body['messages'][2], {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a' },
          { type: 'tool_result', tool_use_id: 'b' },
          { type: 'text', text: 'and' },
        ],
      })
    },
  },
  {
    what: 'a call without a result gets one, and a result without a call is a text',
    from: messages,
    to: messages,
    body: talk(['user', 'q'], ['assistant', [USE('a'), USE('b')]], ['user', [RESULT('b'), RESULT('z', 'lost')]]),
    gets: {
      messages: [
        {},
        {},
        { content: [{ tool_use_id: 'a', is_error: true }, { tool_use_id: 'b' }, { type: 'text', text: 'lost' }] },
      ],
    },
  },
  {
    what: 'pictures in results follow behind all results of the turn',
    from: messages,
    to: chat,
    body: talk(
      ['user', 'q'],
      ['assistant', [USE('a'), USE('b')]],
      ['user', [RESULT('a', [PNG]), RESULT('b', 'rb'), { type: 'text', text: 'and' }]],
    ),
    gets: {
      messages: [
        {},
        {},
        { role: 'tool', tool_call_id: 'a', content: 'The output follows.' },
        { role: 'tool', tool_call_id: 'b', content: 'rb' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Output of tool call a:' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
            { type: 'text', text: 'and' },
          ],
        },
      ],
    },
  },
  {
    what: 'a result that is an error says so in its text, once',
    from: messages,
    to: chat,
    body: talk(
      ['user', 'q'],
      ['assistant', [USE('a'), USE('b')]],
      ['user', [RESULT('a', 'no', { is_error: true }), RESULT('b', 'Error: no', { is_error: true })]],
    ),
    gets: { messages: [{}, {}, { content: 'Error: no' }, { content: 'Error: no' }] },
  },
  {
    what: 'ids that do not fit are the same in call and result',
    from: chat,
    to: messages,
    body: {
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'functions.f:0', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'functions.f:0', content: 'r' },
      ],
    },
    check: (body, t) => {
      const [call, result] = [body['messages'][1].content[0], body['messages'][2].content[0]]
      t.match(call.id, /^call_[A-Za-z0-9_-]{22}$/)
      t.equal(result.tool_use_id, call.id)
    },
  },
  {
    what: 'ids of nine letters or digits, where an upstream wants them',
    from: messages,
    to: chat,
    body: talk(['user', 'q'], ['assistant', [USE('toolu_01')]], ['user', [RESULT('toolu_01')]]),
    target: { toolIds: 'alnum9' },
    check: (body, t) => {
      t.match(body['messages'][1].tool_calls[0].id, /^[a-z0-9]{9}$/)
      t.equal(body['messages'][2].tool_call_id, body['messages'][1].tool_calls[0].id)
    },
  },
  {
    what: 'a name that does not fit is another one in the list, in the history and in the choice',
    from: chat,
    to: messages,
    body: {
      tools: [{ type: 'function', function: { name: 'a.b/c' } }],
      tool_choice: { type: 'function', function: { name: 'a.b/c' } },
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'a.b/c', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'r' },
      ],
    },
    check: (body, t, { renamed }) => {
      const name = String(body['tools'][0].name)
      t.match(name, /^a_b_c_[0-9a-f]{8}$/)
      t.equal(body['tool_choice'].name, name)
      t.equal(body['messages'][1].content[0].name, name)
      t.equal(renamed.get(name)?.name, 'a.b/c')
    },
  },
  {
    what: 'a tool that takes text is a function with one string, and its call in the history too',
    from: chat,
    to: messages,
    body: {
      tools: [
        {
          type: 'custom',
          custom: {
            name: 'patch',
            description: 'Patch.',
            format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: X' } },
          },
        },
      ],
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'patch', input: 'say "é"\n' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'r' },
      ],
    },
    gets: {
      tools: [
        {
          name: 'patch',
          description: 'Patch.\n\nThe input must follow this grammar:\nstart: X',
          input_schema: { required: ['input'] },
        },
      ],
      messages: [{}, { content: [{ type: 'tool_use', input: { input: 'say "é"\n' } }] }, {}],
    },
    losses: ['tool_grammar'],
  },
  {
    what: 'tools of the upstream itself are dropped by name',
    from: messages,
    to: chat,
    body: { ...ASK, tools: [TOOL, { type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'any' } },
    gets: { tools: [{ function: { name: 'f' } }], tool_choice: 'required' },
    losses: ['hosted_tools'],
  },
  {
    what: 'no tools: no list, no choice',
    from: messages,
    to: chat,
    body: { ...ASK, tools: [], tool_choice: { type: 'none' } },
    check: (body, t) => t.notOk('tools' in body || 'tool_choice' in body || 'parallel_tool_calls' in body),
  },
  {
    what: 'one call at a time',
    from: messages,
    to: chat,
    body: { ...ASK, tools: [TOOL], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    gets: { tool_choice: 'auto', parallel_tool_calls: false },
  },
  {
    what: 'one call at a time, the other way',
    from: chat,
    to: messages,
    body: { messages: ASK.messages, tools: [FUNCTION], parallel_tool_calls: false },
    gets: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
  },
  {
    what: 'a maximum above what the model gives is that of the model',
    from: messages,
    to: chat,
    body: { ...ASK, max_tokens: 128_000 },
    target: { maxOutput: 8192 },
    gets: { max_tokens: 8192 },
  },
  {
    what: 'messages must have a maximum',
    from: chat,
    to: messages,
    body: { messages: ASK.messages },
    check: (body, t, { maxOutput }) => t.same([body['max_tokens'], maxOutput], [32_000, 32_000]),
  },
  {
    what: 'efforts are read where clients write them',
    from: messages,
    to: chat,
    body: { ...ASK, thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
    gets: { reasoning_effort: 'xhigh' },
    losses: ['effort'],
  },
  {
    what: 'a budget is an effort',
    from: messages,
    to: chat,
    body: { ...ASK, thinking: { type: 'enabled', budget_tokens: 31_999 } },
    gets: { reasoning_effort: 'xhigh' },
    losses: [],
  },
  {
    what: 'an effort is a budget below the maximum, and a forced tool is asked for in vain',
    from: chat,
    to: messages,
    body: {
      messages: ASK.messages,
      max_tokens: 4000,
      reasoning_effort: 'high',
      temperature: 0.5,
      tools: [FUNCTION],
      tool_choice: 'required',
    },
    target: { thinking: 'budget' },
    gets: { thinking: { type: 'enabled', budget_tokens: 3999 }, tool_choice: { type: 'auto' } },
    losses: ['temperature', 'tool_choice'],
  },
  {
    what: 'a round of tools without its thoughts cannot be thought on',
    from: chat,
    to: messages,
    body: {
      reasoning_effort: 'high',
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'r' },
      ],
    },
    target: { thinking: 'adaptive' },
    gets: { thinking: { type: 'disabled' } },
    losses: ['thinking'],
  },
  {
    what: 'thoughts come back to the upstream whose state they carry',
    from: chat,
    to: messages,
    body: {
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          content: 'a',
          reasoning_content: 'hm',
          reasoning_details: [
            {
              type: 'reasoning.encrypted',
              data: JSON.parse(seal({ issuer: issuerOf('messages', 'up'), of: 'signed', value: '"c2ln"' })),
            },
          ],
        },
        { role: 'user', content: 'q' },
      ],
    },
    gets: {
      messages: [
        {},
        {
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
            { type: 'text', text: 'a' },
          ],
        },
        {},
      ],
    },
    losses: [],
  },
  {
    what: 'thoughts go where a model wants to see them again, and nowhere else',
    from: messages,
    to: chat,
    body: talk(
      ['user', 'q'],
      ['assistant', [{ type: 'thinking', thinking: 'hm', signature: 'EsIg' }, USE('a')]],
      ['user', [RESULT('a')]],
    ),
    target: { thoughtMember: 'reasoning_content' },
    gets: { messages: [{}, { reasoning_content: 'hm' }, {}] },
    losses: [],
  },
  {
    what: 'thoughts of another upstream are dropped by name',
    from: messages,
    to: chat,
    body: talk(
      ['user', 'q'],
      [
        'assistant',
        [
          { type: 'thinking', thinking: 'hm', signature: 'EsIg' },
          { type: 'text', text: 'a' },
        ],
      ],
      ['user', 'q'],
    ),
    check: (body, t) => t.same(body['messages'][1], { role: 'assistant', content: 'a' }),
    losses: ['thinking'],
  },
  {
    what: 'a system turn in the middle stays where it is',
    from: messages,
    to: chat,
    body: talk(['user', 'q'], ['assistant', 'a'], ['system', 'note'], ['user', 'q']),
    gets: { messages: [{}, {}, { role: 'system', content: 'note' }, { role: 'user' }] },
  },
  {
    what: 'a system turn between calls and results does not part them',
    from: messages,
    to: chat,
    body: talk(['user', 'q'], ['assistant', [USE('a')]], ['system', 'note'], ['user', [RESULT('a')]]),
    gets: { messages: [{}, {}, { role: 'tool' }, { role: 'system', content: 'note' }] },
  },
  {
    what: 'system turns only at the beginning',
    from: messages,
    to: chat,
    body: { ...talk(['user', 'q'], ['assistant', 'a'], ['system', 'note'], ['user', 'q']), system: 'first' },
    target: { systemFirst: true },
    gets: {
      messages: [
        { role: 'system', content: 'first\n\nnote' },
        { role: 'user' },
        { role: 'assistant' },
        { role: 'user' },
      ],
    },
    losses: ['system_turns'],
  },
  {
    what: 'a system turn stands behind the turn of the user that follows',
    from: chat,
    to: messages,
    body: {
      messages: [
        ...ASK.messages,
        { role: 'assistant', content: 'a' },
        { role: 'system', content: 'note' },
        { role: 'user', content: 'q2' },
      ],
    },
    target: { systemTurns: true },
    gets: {
      messages: [{}, {}, { role: 'user', content: [{ text: 'q2' }] }, { role: 'system', content: [{ text: 'note' }] }],
    },
  },
  {
    what: 'a system turn is a text of the user, where the model knows no such turns',
    from: chat,
    to: messages,
    body: { messages: [...ASK.messages, { role: 'system', content: 'note' }] },
    gets: {
      messages: [{ role: 'user', content: [{ text: 'q' }, { text: '<system-reminder>\nnote\n</system-reminder>' }] }],
    },
  },
  {
    what: 'messages begin with the user, and have no empty texts',
    from: chat,
    to: messages,
    body: {
      messages: [
        { role: 'assistant', content: 'hello' },
        {
          role: 'user',
          content: [
            { type: 'text', text: ' \n' },
            { type: 'text', text: 'q' },
          ],
        },
      ],
    },
    gets: {
      messages: [
        { role: 'user', content: [{ text: '.' }] },
        { role: 'assistant' },
        { role: 'user', content: [{ text: 'q' }] },
      ],
    },
  },
  {
    what: 'an answer goes on without a space at its end',
    from: chat,
    to: messages,
    body: { messages: [...ASK.messages, { role: 'assistant', content: 'so \\n \n' }] },
    gets: { messages: [{}, { role: 'assistant', content: [{ text: 'so \\n' }] }] },
  },
  {
    what: 'a schema with alternatives at its top is an object that allows all of them',
    from: chat,
    to: messages,
    body: {
      messages: ASK.messages,
      tools: [
        {
          type: 'function',
          function: {
            name: 'f',
            parameters: {
              anyOf: [
                { properties: { a: { const: 1 }, b: {} }, required: ['a', 'b'] },
                { properties: { a: { const: 2 } }, required: ['a'] },
              ],
            },
          },
        },
        { type: 'function', function: { name: 'g', parameters: { properties: { a: {} } } } },
      ],
    },
    gets: {
      tools: [
        { input_schema: { type: 'object', properties: { a: { const: 1 }, b: {} }, required: ['a'] } },
        { input_schema: { type: 'object', properties: { a: {} } } },
      ],
    },
    losses: ['schema'],
  },
  {
    what: 'answers in JSON',
    from: chat,
    to: messages,
    body: { messages: ASK.messages, response_format: { type: 'json_object' } },
    gets: { system: [{ text: 'Answer with one JSON object and nothing else.' }] },
  },
  {
    what: 'answers by a schema',
    from: messages,
    to: chat,
    body: { ...ASK, output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    gets: { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } } },
  },
  {
    what: 'caches are asked for where the client asks for them',
    from: messages,
    to: messages,
    body: {
      ...ASK,
      system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      tools: [{ ...TOOL, cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [1, 2, 3].map(n => ({ type: 'text', text: `q${n}`, cache_control: { type: 'ephemeral' } })),
        },
      ],
    },
    check: (body, t, { cache }) => {
      t.equal(cache, '1h')
      t.notOk('cache_control' in body['tools'][0], 'no more than four marks, and the last cover the first')
      t.same(body['system'][0].cache_control, { type: 'ephemeral', ttl: '1h' })
      t.same(body['messages'][0].content[2].cache_control, { type: 'ephemeral' })
    },
  },
  {
    what: 'caches are not asked for unasked',
    from: chat,
    to: messages,
    body: { messages: [{ role: 'system', content: 's' }, ...ASK.messages] },
    check: (body, t, { cache }) => t.same([cache, JSON.stringify(body).includes('cache_control')], [null, false]),
  },
  {
    what: 'unless the channel asks by itself',
    from: chat,
    to: messages,
    body: { messages: [{ role: 'system', content: 's' }, ...ASK.messages] },
    target: { cacheMarks: 'auto' },
    gets: {
      system: [{ cache_control: { type: 'ephemeral' } }],
      messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }],
    },
  },
  {
    what: 'only what is known is written',
    from: messages,
    to: chat,
    body: {
      ...ASK,
      context_management: { edits: [] },
      metadata: { user_id: 'u' },
      something: 1,
      top_k: 4,
      diagnostics: {},
    },
    check: (body, t) =>
      t.same(Object.keys(body).sort(), ['max_tokens', 'messages', 'model', 'stream', 'stream_options']),
    losses: ['context_management', 'other', 'top_k'],
  },
  {
    what: 'values that say nothing are no loss',
    from: chat,
    to: messages,
    body: {
      messages: ASK.messages,
      n: 1,
      logprobs: false,
      store: false,
      logit_bias: {},
      user: null,
      modalities: ['text'],
    },
    losses: [],
  },
  {
    what: 'documents and search results',
    from: messages,
    to: chat,
    body: talk([
      'user',
      [
        { type: 'document', title: 'D', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } },
        { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'plain' } },
        { type: 'search_result', title: 'S', source: 'https://s.test', content: [{ type: 'text', text: 'found' }] },
        { type: 'tool_reference', tool_name: 'f' },
      ],
    ]),
    gets: {
      messages: [
        {
          content: [
            { type: 'file', file: { filename: 'D', file_data: 'data:application/pdf;base64,aGk=' } },
            { type: 'text', text: 'T\n\nplain' },
            { type: 'text', text: 'S\nhttps://s.test\nfound' },
            { type: 'text', text: 'Tool f is available' },
          ],
        },
      ],
    },
  },
]

testRows(t, messages, ROWS)

const REFUSED: [from: Translated, to: Translated, body: object, field: RegExp][] = [
  [messages, chat, talk(['user', 'q'], ['assistant', 'The answer is']), /messages/],
  [messages, chat, { ...ASK, max_tokens: 0 }, /max_tokens/],
  [messages, chat, { ...ASK, inference_geo: 'eu' }, /inference_geo/],
  [messages, chat, { ...ASK, container: 'c' }, /container/],
  [
    messages,
    chat,
    {
      ...ASK,
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'tool', name: 'web_search' },
    },
    /tool_choice/,
  ],
  [messages, chat, { ...ASK, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, /tools/],
  [messages, chat, talk(['user', [{ type: 'image', source: { type: 'file', file_id: 'f' } }]]), /file_id/],
  [
    messages,
    chat,
    talk(['user', [{ type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } }]]),
    /document.url/,
  ],
  [chat, messages, { ...ASK, n: 2 }, /n/],
  [chat, messages, { ...ASK, logprobs: true }, /logprobs/],
  [chat, messages, { ...ASK, modalities: ['text', 'audio'] }, /modalities/],
  [
    chat,
    messages,
    {
      ...ASK,
      messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } }] }],
    },
    /audio/,
  ],
  [
    chat,
    messages,
    { ...ASK, messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
    /file_id/,
  ],
]

t.test('what would make another answer of a request is refused, by its name', async t => {
  for (const [from, to, body, field] of REFUSED) refuses(t, from, to, body, field)
  for (const body of ['[]', '{', '{"messages":[}', `{"messages":${'['.repeat(2000)}${']'.repeat(2000)}}`])
    refuses(t, messages, chat, body, 'body')
})

t.test('what has no place in a parser arrives as it was sent', async t => arrivesAsSent(t, chat))

const LONG = 20_000_000
const MANY = 20_000

t.test('requests that are made to take long do not', async t => {
  const bodies: [what: string, from: Translated, to: Translated, body: object][] = [
    ['a long blank text', messages, chat, talk(['user', ' '.repeat(LONG)])],
    [
      'space before the end',
      chat,
      messages,
      { messages: [...ASK.messages, { role: 'assistant', content: `${' '.repeat(LONG)}x ` }] },
    ],
    [
      'a long attribution line',
      messages,
      chat,
      { ...ASK, system: [{ type: 'text', text: ATTRIBUTION.text.padEnd(LONG, 'x') }] },
    ],
    [
      'many calls with the same id',
      messages,
      chat,
      talk(['user', 'q'], ['assistant', Array(MANY).fill(USE('a'))], ['user', Array(MANY).fill(RESULT('a'))]),
    ],
    [
      'many calls whose results come the other way round',
      messages,
      chat,
      talk(
        ['user', 'q'],
        ['assistant', Array.from({ length: MANY }, (_, n) => USE(`a${n}`))],
        ['user', Array.from({ length: MANY }, (_, n) => RESULT(`a${MANY - n - 1}`))],
      ),
    ],
    [
      'many members',
      chat,
      messages,
      { ...Object.fromEntries(Array.from({ length: MANY }, (_, n) => [`m${n}`, n])), ...ASK },
    ],
  ]
  for (const [what, from, to, body] of bodies) t.doesNotThrow(() => via(from, to, body), what)
  t.throws(() => via(messages, chat, { ...ASK, stop_sequences: Array(600_000).fill('') }), {
    name: 'Error',
    field: 'body',
  })
})

t.test('of a member that stands twice the last one counts', async t => {
  const body =
    '{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"max_tokens":2,"messages":[{"role":"user","content":"b"}]}'
  t.match(bodyOf(via(messages, chat, body)), { max_tokens: 2, messages: [{ content: 'b' }] })
})
