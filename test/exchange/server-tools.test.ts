/**
 * Tools that the upstream runs and bills by the piece have a price, or the request is refused. Containers, hosted shells, code
 * and maps passed, and only tokens were charged: a container of 64 GB cost the operator ¥3.4 and the customer ¥0.004.
 */
import t from 'tap'
import { GENERATE_TOOLS, SWITCHES, TYPED_TOOLS } from '../../lib/protocols/words/server-tools.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import type { Talking } from '../support/talking.ts'
import { until } from '../support/wait.ts'
import { HEADERS, MODEL, NOTHING_LEFT, open, PATHS, type Scene } from './support/gateway.ts'

type Json = Record<string, unknown>

const TOKENS = { input: 1, output: 1 }
const PRICED = {
  ...TOKENS,
  web_search: 0.07,
  maps: 0.2,
  container: { '1g': 0.25, '64g': 14 },
  code_execution: 0.4,
  tools: { x_browser: 0.5, 'file-parser': 0.6 },
}

/** Answers as the protocols do, of which only usage and calls matter. */
const USAGE: Record<'messages' | 'chat' | 'responses' | 'generate', Json> = {
  messages: { type: 'message', content: [{ type: 'text', text: 'hi' }], usage: { input_tokens: 1, output_tokens: 1 } },
  chat: { choices: [{ message: { content: 'hi' } }], usage: { prompt_tokens: 1, completion_tokens: 1 } },
  responses: {
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'hi' }] }],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  generate: {
    candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  },
}
type Text = keyof typeof USAGE

interface Asked {
  status: number
  body: string
  dropped: string | undefined
  /** What went upstream; null = nobody was asked. */
  sent: string | null
  /** Held for it beyond the tokens, in yuan. */
  held: number
}

async function ask(s: Scene, protocol: Text, members: string, answer: Json = {}): Promise<Asked> {
  const model = protocol === 'generate' ? '' : `"model":"${MODEL}",`
  const calls = s.at('a').calls.length
  const client = s.ask({ path: PATHS[protocol as Talking], headers: HEADERS, body: `{${model}${members}}` })
  let isOver = false
  const ended = client.end().then(() => (isOver = true))
  await until('the upstream is asked, or the client is refused', () => isOver || s.at('a').calls.length > calls)
  const call = isOver ? undefined : s.at('a').calls[calls]
  const held = Math.floor(s.services.ledger.heldTotal / 10_000) / 100
  call?.whole(200, { ...USAGE[protocol], ...answer })
  await ended
  const { status, headers, body } = client.answer
  return { status, body, dropped: headers.get('x-gateway-dropped'), sent: call?.body ?? null, held }
}

const tools = (...all: Json[]): string => `"max_tokens":1,"tools":${JSON.stringify(all)}`
const auto = (memory_limit?: string) => ({ type: 'auto', ...(memory_limit === undefined ? {} : { memory_limit }) })

t.test('without a price: 400, and the name of what has none', async t => {
  const s = await open(t, { model: { price: TOKENS, max_output: 100 } })
  const rows: [protocol: Text, members: string, name: string | null][] = [
    // beside tools that run code themselves, code is free; a search that is left out is none of these
    ['messages', tools({ type: 'web_fetch_20260209' }, { type: 'code_execution_20260521' }), null],
    ['messages', tools({ type: 'web_fetch_20250910' }, { type: 'code_execution_20260521' }), 'code_execution_20260521'],
    [
      'messages',
      tools({ type: 'web_search_20260209' }, { type: 'code_execution_20260521' }),
      'code_execution_20260521',
    ],
    ['responses', tools({ type: 'code_interpreter', container: auto('64g') }), 'code_interpreter'],
    ['responses', tools({ type: 'shell', environment: { type: 'container_auto', memory_limit: '64g' } }), 'shell'],
    ['responses', tools({ type: 'shell' }), 'shell'],
    ['responses', tools({ type: 'shell', environment: { type: 'local' } }), null],
    ['responses', tools({ type: 'function', name: 'f' }, { type: 'custom', name: 'c' }, { type: 'mcp' }), null],
    ['responses', tools({ type: 'file_search' }), 'file_search'],
    ['responses', tools({ type: 'tool_of_tomorrow_20991231' }), 'tool_of_tomorrow_20991231'],
    ['responses', tools({ type: 5 }), 'type'],
    ['responses', '"tools":["code_interpreter"]', 'code_interpreter'],
    ['responses', '"input":[{"type":"additional_tools","tools":[{"type":"code_interpreter"}]}]', 'code_interpreter'],
    ['messages', tools({ type: 'code_execution_20260521', name: 'code_execution' }), 'code_execution_20260521'],
    ['messages', tools({ type: 'code_execution_20991231', name: 'code_execution' }), 'code_execution_20991231'],
    [
      'messages',
      tools({ type: 'web_fetch_20260318', name: 'web_fetch' }, { type: 'bash_20250124', name: 'bash' }),
      null,
    ],
    [
      'messages',
      '"max_tokens":1,"messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"code_execution_20260521"}}}]}]',
      'code_execution_20260521',
    ],
    ['generate', '"tools":[{"googleMaps":{}}]', 'googleMaps'],
    ['generate', '"tools":[{"google_maps":{}}]', 'google_maps'],
    ['generate', '"tools":[{"urlContext":{}},{"codeExecution":{}},{"functionDeclarations":[]}]', null],
    ['generate', '"tools":[{"exaAiSearch":{}}]', 'exaAiSearch'],
    // the search cannot be taken out of what stands beside it
    ['generate', '"tools":[{"googleSearch":{},"urlContext":{}}]', 'googleSearch'],
    ['chat', '"enable_code_interpreter":true', 'enable_code_interpreter'],
    ['chat', '"enable_code_interpreter":false', null],
    ['chat', '"plugins":[{"id":"file-parser"}]', 'plugins'],
    ['chat', '"plugins":[{"id":"web"}]', 'plugins'],
    ['chat', '"plugins":[]', null],
    ['responses', '"plugins":[{"id":"web","enabled":false}]', null],
    ['messages', '"max_tokens":1,"plugins":[{"id":"web"}]', 'plugins'],
    ['chat', '"extra_body":{"enable_search":true}', 'enable_search'],
    ['chat', '"extra_body":{"tools":[{"type":"code_interpreter"}]}', 'code_interpreter'],
    ['responses', '"extra_body":{"tools":[{"type":"shell"}]}', 'shell'],
    [
      'messages',
      '"max_tokens":1,"fallbacks":[{"model":"m","tools":[{"type":"code_execution_20260521"}]}]',
      'code_execution_20260521',
    ],
    ['chat', '"compound_custom":{"tools":{"enabled_tools":["code_interpreter"]}}', 'compound_custom'],
    ['chat', '"search_parameters":{"mode":"on"}', 'search_parameters'],
    ['chat', '"enable_search":true,"search_options":{"forced_search":true}', 'enable_search'],
    ['chat', tools({ googleMaps: {} }), 'googleMaps'],
    // a search that has to be made
    [
      'messages',
      `${tools({ type: 'web_search_20250305', name: 'web_search' })},"tool_choice":{"type":"tool","name":"web_search"}`,
      'web_search_20250305',
    ],
    [
      'messages',
      `${tools({ type: 'web_search_20250305', name: 'web_search' })},"tool_choice":{"type":"any"}`,
      'web_search_20250305',
    ],
    [
      'responses',
      `"tool_choice":{"type":"web_search"},${tools({ type: 'web_search' }, { type: 'function', name: 'f' })}`,
      'web_search',
    ],
    ['responses', `"tool_choice":"required",${tools({ type: 'web_search' })}`, 'web_search'],
  ]
  for (const [protocol, members, name] of rows) {
    const { status, body, sent } = await ask(s, protocol, members)
    const said = `${protocol} ${members.slice(0, 120)}`
    if (name === null) t.same([status, sent === null], [200, false], said)
    else {
      t.same([status, sent], [400, null], said)
      t.match(JSON.parse(body), { error: { message: /^请求体字段无效:tools \(/, param: name } }, said)
    }
  }
  t.same((await s.books()).left, NOTHING_LEFT)
})

t.test('a search that is only offered and has no price is left out, and nothing else of the body', async t => {
  const s = await open(t, { model: { price: TOKENS, max_output: 100 } })
  const M = `{"model":"${MODEL}",`
  const rows: [protocol: Text, members: string, sent: string][] = [
    [
      'messages',
      '"tools":[{"type":"web_search_20250305","name":"web_search"}],"max_tokens":1',
      `${M.slice(0, -1)},"max_tokens":1}`,
    ],
    [
      'messages',
      '"max_tokens":1, "tools" : [ {"type":"web_search_20260209"} , {"name":"f"} ],"tool_choice":{"type":"auto"}',
      `${M}"max_tokens":1, "tools" : [ {"name":"f"} ],"tool_choice":{"type":"auto"}}`,
    ],
    [
      'messages',
      '"max_tokens":1,"tools":[{"name":"f"},{"type":"web_search_20260209"},{"type":"web_search_20250305"},{"name":"g"}]',
      `${M}"max_tokens":1,"tools":[{"name":"f"},{"name":"g"}]}`,
    ],
    [
      'messages',
      '"max_tokens":1,"tools":[{"name":"f"},{"type":"web_search_20260209"}]',
      `${M}"max_tokens":1,"tools":[{"name":"f"}]}`,
    ],
    [
      'responses',
      '"tools":[{"type":"web_search"}],"tool_choice":"auto","parallel_tool_calls":true,"input":"q"',
      `${M}"input":"q"}`,
    ],
    [
      'responses',
      '"input":[{"type":"additional_tools","tools":[{"type":"web_search"}]}],"tools":[{"type":"web_search"},{"type":"function"}]',
      `${M}"input":[{"type":"additional_tools","tools":[]}],"tools":[{"type":"function"}]}`,
    ],
    ['generate', '"tools":[{"googleSearch":{}}],"contents":[]', '{"contents":[]}'],
    [
      'generate',
      '"contents":[],"tools":[{"googleSearch":{}},{"urlContext":{}}]',
      '{"contents":[],"tools":[{"urlContext":{}}]}',
    ],
    ['generate', '"tools":[{"google_search":{},"googleSearchRetrieval":{}}]', '{}'],
    ['chat', '"enable_search":true,"stream":false', `${M}"stream":false}`],
    [
      'chat',
      '"messages":[],"web_search_options":{"search_context_size":"low"},"enable_search":true',
      `${M}"messages":[]}`,
    ],
    [
      'chat',
      '"search_parameters":{"mode":"auto"},"tools":[{"type":"web_search"},{"type":"function"}]',
      `${M}"tools":[{"type":"function"}]}`,
    ],
  ]
  for (const [protocol, members, want] of rows) {
    const { status, sent, dropped } = await ask(s, protocol, members)
    t.same([status, sent, dropped], [200, want, 'web_search'], `${protocol} ${members}`)
  }
  t.same((await ask(s, 'responses', '"tools":[{"type":"function"}]')).dropped, undefined)
})

t.test('with a price: what is held and what is charged', async t => {
  const s = await open(t, { model: { price: PRICED, max_output: 100, tool_input: 0, max_searches: 4 } })
  const item = (type: string, more: Json = {}) => ({ id: `${type}${JSON.stringify(more)}`, type, ...more })
  const output = (...all: Json[]) => ({ output: [...(USAGE.responses['output'] as Json[]), ...all] })
  const content = (...all: Json[]) => ({ content: [...(USAGE.messages['content'] as Json[]), ...all] })
  const used = (name: string, id: string) => ({ type: 'server_tool_use', id, name, input: {} })
  const grounded = (more: Json) => ({
    candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP', ...more }],
  })
  const ran = (id: string) => item('code_interpreter_call', { container_id: id, status: 'completed', code: 'x' })
  const rows: [protocol: Text, members: string, answer: Json, held: number, charged: Record<string, number>][] = [
    ['responses', tools({ type: 'code_interpreter', container: auto('64g') }), {}, 14, {}],
    [
      'responses',
      tools({ type: 'code_interpreter', container: auto('64g') }),
      output(ran('c1')),
      14,
      { 'container.64g': 1 },
    ],
    [
      'responses',
      tools({ type: 'code_interpreter', container: auto() }),
      output(ran('c1'), ran('c2'), ran('c1')),
      0.25,
      { 'container.1g': 2 },
    ],
    [
      'responses',
      tools({ type: 'code_interpreter' }),
      output(item('code_interpreter_call')),
      0.25,
      { 'container.1g': 1 },
    ],
    [
      'responses',
      tools({ type: 'shell', environment: { type: 'container_auto', memory_limit: '64g' } }),
      output(item('shell_call', { environment: { type: 'container_reference', container_id: 'c' } })),
      14,
      { 'container.64g': 1 },
    ],
    // a shell of the client, which somebody called though
    [
      'responses',
      tools({ type: 'shell', environment: { type: 'local' } }),
      output(item('shell_call', { environment: { type: 'local' } })),
      0,
      {},
    ],
    [
      'responses',
      tools({ type: 'x_browser' }),
      output(item('x_browser_call'), item('x_browser_call', { n: 2 })),
      2,
      { 'tools.x_browser': 2 },
    ],
    [
      'responses',
      `"max_tool_calls":3,${tools({ type: 'x_browser' })}`,
      output(item('x_browser_call', { status: 'failed' })),
      1.5,
      {},
    ],
    [
      'responses',
      tools({ type: 'web_search' }),
      output(item('web_search_call'), item('web_search_call', { status: 'failed' })),
      0.28,
      { web_search: 1 },
    ],
    [
      'messages',
      tools({ type: 'code_execution_20260521', name: 'code_execution' }),
      content(used('bash_code_execution', 'a'), used('code_execution', 'b')),
      0.4,
      { code_execution: 1 },
    ],
    [
      'messages',
      tools({ type: 'code_execution_20260521', name: 'code_execution' }),
      content(used('code_execution', 'a'), {
        type: 'code_execution_tool_result',
        tool_use_id: 'a',
        content: { type: 'code_execution_tool_result_error', error_code: 'unavailable' },
      }),
      0.4,
      {},
    ],
    [
      'messages',
      tools({ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }),
      content(used('web_search', 'a'), used('web_search', 'b'), {
        type: 'web_search_tool_result',
        tool_use_id: 'b',
        content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
      }),
      0.14,
      { web_search: 1 },
    ],
    [
      'messages',
      tools({ type: 'code_execution_20260521' }, { type: 'web_search_20260318', max_uses: 1 }),
      content(used('code_execution', 'a'), used('web_search', 'b')),
      0.07,
      { web_search: 1 },
    ],
    // code that a search runs by itself is part of it
    [
      'messages',
      tools({ type: 'web_search_20260209', name: 'web_search', max_uses: 1 }),
      content(used('code_execution', 'a')),
      0.07,
      {},
    ],
    [
      'generate',
      '"tools":[{"googleMaps":{}}]',
      grounded({ groundingMetadata: { groundingChunks: [{ maps: { uri: 'u' } }] } }),
      0.8,
      { maps: 1 },
    ],
    [
      'generate',
      '"tools":[{"googleMaps":{}}]',
      grounded({ groundingMetadata: { groundingChunks: [{ web: {} }] } }),
      0.8,
      {},
    ],
    // answers of chat do not show calls, and a plugin runs for every request
    ['chat', tools({ type: 'code_interpreter', container: auto() }), {}, 0.25, { 'container.1g': 1 }],
    ['chat', '"enable_code_interpreter":true', {}, 0.4, { code_execution: 1 }],
    ['messages', '"max_tokens":1,"plugins":[{"id":"file-parser"}]', {}, 0.6, { 'tools.file-parser': 1 }],
  ]
  for (const [protocol, members, answer, held, charged] of rows) {
    const name = `${protocol} ${members}`
    const asked = await ask(s, protocol, members, answer)
    t.same([asked.status, asked.dropped], [200, undefined], name)
    t.equal(asked.held, held, name)
    const { rows: kept, ok } = await s.books()
    const fees = kept.at(-1)?.lines.filter(line => !['input', 'output'].includes(line.class)) ?? []
    t.same(Object.fromEntries(fees.map(({ class: fee, count }) => [fee, count])), charged, name)
    t.ok(ok)
  }
})

t.test('a dearer search, or a dearer provider of the same model: refused, until the price names it', async t => {
  const search = (more: Json) => tools({ type: 'web_search', ...more })
  const online = (parameters: Json) => tools({ type: 'openrouter:web_search', parameters })
  const gateway = (more: Json) => `"providerOptions":${JSON.stringify({ gateway: more })}`
  const provider = (more: Json) => `"provider":${JSON.stringify(more)}`
  const rows: [protocol: Text, members: string, name: string | null][] = [
    ['responses', search({ search_context_size: 'high' }), 'search_context_size'],
    ['responses', search({ search_context_size: 'HIGH' }), 'search_context_size'],
    ['responses', search({ search_context_size: ['high'] }), 'search_context_size'],
    ['responses', search({ search_context_size: 'medium' }), null],
    ['responses', tools({ type: 'image_generation', model: 'gpt-image-9' }), 'image_model'],
    ['responses', tools({ type: 'image_generation', model: 'gpt-image-1-mini' }), null],
    ['responses', tools({ type: 'web_search', model: null }), null],
    ['chat', tools({ type: 'image_generation', parameters: { model: 'dear' } }), 'image_model'],
    ['chat', tools({ type: 'function', model: 'any', function: { name: 'f' } }), null],
    ['chat', '"safety_model":"a-guard"', 'safety_model'],
    ['responses', tools({ type: 'function', name: 'f', parameters: { engine: 'x', Engine: 1 } }), null],
    ['chat', '"web_search_options":{"search_context_size":"high"}', 'search_context_size'],
    ['chat', '"web_search_options":{"search_type":"pro"}', 'search_type'],
    ['chat', '"web_search_options":{"search_context_size":"low","search_type":null}', null],
    ['chat', '"extra_body":{"web_search_options":{"search_context_size":"high"}}', 'search_context_size'],
    ['chat', search({ web_search: { search_engine: 'search_pro_sogou' } }), 'search_engine'],
    ['chat', search({ web_search: { search_engine: 'search_std', enable: true } }), null],
    ['chat', '"enable_search":true,"search_options":{"search_strategy":"max"}', 'search_strategy'],
    ['chat', '"enable_search":true,"search_options":{"search_strategy":"turbo"}', null],
    ['chat', '"plugins":[{"id":"web","max_results":50}]', 'max_results'],
    ['chat', '"plugins":[{"id":"web","max_results":"6"}]', 'max_results'],
    ['chat', '"plugins":[{"id":"web","max_results":5}]', null],
    ['chat', online({ engine: 'exa' }), 'engine'],
    ['messages', online({ max_results: 20, engine: 'auto' }), 'max_results'],
    ['chat', online({ engine: 'native', max_results: 3 }), null],
    ...(['messages', 'chat', 'responses'] as const).flatMap(protocol => [
      ...[
        { order: ['dear'] },
        { only: ['dear'] },
        { ignore: ['cheap'] },
        { sort: 'throughput' },
        { sort: { by: 'latency' } },
      ].map((more): [Text, string, string] => [
        protocol,
        `"max_tokens":1,${provider(more)}`,
        `provider.${Object.keys(more)[0]}`,
      ]),
      ...[{ order: ['dear'] }, { only: ['dear'] }, { sort: 'ttft' }].map((more): [Text, string, string] => [
        protocol,
        `"max_tokens":1,${gateway(more)}`,
        `providerOptions.gateway.${Object.keys(more)[0]}`,
      ]),
    ]),
    ['chat', `"extra_body":{${provider({ quantizations: ['bf16'] })}}`, 'provider.quantizations'],
    ['chat', provider({ preferred_max_latency: { p50: 1 } }), 'provider.preferred_max_latency'],
    // what is asked for privacy, and what makes nothing dearer
    [
      'chat',
      provider({
        data_collection: 'deny',
        zdr: true,
        sort: 'price',
        order: [],
        only: null,
        require_parameters: true,
        max_price: {},
      }),
      null,
    ],
    [
      'chat',
      gateway({ zeroDataRetention: true, disallowPromptTraining: true, order: [], sort: 'cost', user: 'u' }),
      null,
    ],
    ['chat', '"provider":"any","providerOptions":{"other":{"order":["a"]}}', null],
    ['chat', provider({ sort: { by: 'price', partition: 'none' } }), null],
    ['chat', provider({ sort: { by: ['price'] } }), 'provider.sort'],
    ['chat', provider({ only: { by: 'price' } }), 'provider.only'],
  ]
  const s = await open(t, { model: { price: { ...TOKENS, web_search: 0.07 }, max_output: 100 } })
  const names = new Set<string>()
  for (const [protocol, members, name] of rows) {
    const { status, body, sent } = await ask(s, protocol, members)
    t.same([status, sent === null], name === null ? [200, false] : [400, true], `${protocol} ${members}`)
    if (name !== null) t.match(JSON.parse(body), { error: { param: name } }, `${protocol} ${members}`)
    if (name !== null) names.add(name.split('.')[0]!.replace('providerOptions', 'provider'))
  }
  t.same((await s.books()).left, NOTHING_LEFT)

  // a search that is left out takes its settings with it
  const without = await open(t, { model: { price: TOKENS, max_output: 100 } })
  for (const [protocol, members] of [
    ['responses', search({ search_context_size: 'high' })],
    ['chat', '"web_search_options":{"search_context_size":"high"}'],
    ['chat', '"enable_search":true,"search_options":{"search_strategy":"max"}'],
  ] as const)
    t.match(await ask(without, protocol, members), { status: 200, dropped: 'web_search' }, members)
  t.match(await ask(without, 'chat', `"enable_search":true,${provider({ only: ['dear'] })}`), { status: 400 })

  const fees = Object.fromEntries([...names].map(name => [name, name === 'provider' ? 0.5 : 0.01]))
  const price = { ...TOKENS, web_search: 0.07, tools: fees }
  const priced = await open(t, { model: { price, max_output: 100, tool_input: 0, max_searches: 1 } })
  for (const [protocol, members, name] of rows) {
    const asked = await ask(priced, protocol, members)
    t.equal(asked.status, 200, members)
    if (name === null) continue
    const stem = name.split('.')[0]!.replace('providerOptions', 'provider')
    const { rows: kept, ok } = await priced.books()
    const line = kept.at(-1)?.lines.find(one => one.class === `tools.${stem}`)
    t.match(line, { count: 1, price: (fees[stem] as number) * 1e6 }, `once for each request: ${members}`)
    t.ok(ok && asked.held >= (fees[stem] as number), 'and held')
  }
  const { held } = await ask(priced, 'chat', provider({ order: ['dear'], only: ['dear'], sort: 'throughput' }))
  t.equal(held, 0.5, 'held as it is charged: once, in however many ways a provider is chosen')
})

t.test('calls of a stream count from their first event, also when it breaks off', async t => {
  const s = await open(t, { model: { price: PRICED, max_output: 100, tool_input: 0 } })
  const event = (data: Json) => `event: ${data['type']}\ndata: ${JSON.stringify(data)}\n\n`
  const rows: [protocol: Text, tool: Json, events: Json[], charged: Record<string, number>][] = [
    [
      'responses',
      { type: 'code_interpreter', container: auto('64g') },
      [
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: { type: 'code_interpreter_call', id: 'ci', container_id: 'c' },
        },
      ],
      { 'container.64g': 1 },
    ],
    [
      'responses',
      { type: 'x_browser' },
      [{ type: 'response.x_browser_call.in_progress', item_id: 'x' }],
      { 'tools.x_browser': 1 },
    ],
    [
      'messages',
      { type: 'code_execution_20260521', name: 'code_execution' },
      [
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'server_tool_use', id: 'a', name: 'code_execution', input: {} },
        },
      ],
      { code_execution: 1 },
    ],
  ]
  for (const [protocol, tool, events, charged] of rows) {
    const calls = s.at('a').calls.length
    const body = { model: MODEL, stream: true, max_tokens: 1, tools: [tool] }
    const client = s.ask({ path: PATHS[protocol as Talking], headers: HEADERS, body })
    await until('the upstream is asked', () => s.at('a').calls.length > calls)
    const call = s.at('a').calls[calls]
    call?.stream()
    for (const one of events) call?.chunk(event(one))
    await until('the client has them', () => client.text.includes('_') || client.text !== '')
    call?.reset()
    await client.end()
    const { rows: kept } = await s.books()
    const fees = kept.at(-1)?.lines.filter(line => !['input', 'output'].includes(line.class)) ?? []
    t.same(Object.fromEntries(fees.map(({ class: fee, count }) => [fee, count])), charged, protocol)
  }
})

t.test('a translated request asks for no tool of the upstream, nor for a search without a price', async t => {
  const FUNCTION: Record<Text, Json> = {
    messages: { name: 'f', input_schema: { type: 'object' } },
    chat: { type: 'function', function: { name: 'f' } },
    responses: { type: 'function', name: 'f', parameters: { type: 'object' } },
    generate: { functionDeclarations: [{ name: 'f' }] },
  }
  const SAYS: Record<Text, string> = {
    messages: '"max_tokens":9,"messages":[{"role":"user","content":"hi"}]',
    chat: '"messages":[{"role":"user","content":"hi"}]',
    responses: '"input":"hi"',
    generate: '"contents":[{"role":"user","parts":[{"text":"hi"}]}]',
  }
  const SWITCHED = Object.keys(SWITCHES).filter(name => SWITCHES[name]?.cost !== 'stored' && name !== 'mcp_servers')
  const texts = Object.keys(USAGE) as Text[]
  for (const via of texts) {
    const s = await open(t, { model: { price: TOKENS, max_output: 100 }, channels: { a: { protocols: [via] } } })
    for (const protocol of texts.filter(one => one !== via)) {
      const paid = protocol === 'generate' ? GENERATE_TOOLS : TYPED_TOOLS
      const names = Object.keys(paid).filter(name => name !== '' && paid[name] !== 'free' && paid[name] !== 'stored')
      const named = names.map(name => (protocol === 'generate' ? { [name]: {} } : { type: name, name }))
      const switches = protocol === 'generate' ? '' : `,${SWITCHED.map(name => `"${name}":true`).join(',')}`
      const list = JSON.stringify([FUNCTION[protocol], ...named])
      const asked = await ask(s, protocol, `${SAYS[protocol]},"tools":${list}${switches}`, USAGE[via])
      const name = `${protocol} by ${via}`
      t.equal(asked.status, 200, `${name}: ${asked.body.slice(0, 200)}`)
      t.match(asked.dropped, /hosted_tools/, name)
      const scan = protocolRow(via).body.scan('application/json')
      scan.feed(Buffer.from(asked.sent ?? ''))
      t.same(scan.end()?.tools, [], `${name}: ${asked.sent}`)
    }
  }
})
