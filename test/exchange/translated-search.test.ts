/**
 * Hosted web search through the whole gateway: Claude Code's WebSearch, Codex, Gemini CLI and chat clients search at upstreams of every
 * protocol, see links and citations, and are held and charged for searches as the model's price says.
 */
import t, { type Test } from 'tap'
import { simulate } from '../../tools/simulator/main.ts'
import { until } from '../support/wait.ts'
import { asks, FOUR, type Four } from './support/four.ts'
import { open, type Scene } from './support/gateway.ts'

type Json = Record<string, unknown>

const FEE = 70_000
const PRICE = { input: 0, output: 0, web_search: 0.07 }
const QUERY = 'Perform a web search for the query: what is "neu" über alles'
const LINKS = ['https://found.example/1?q=a%20b', 'https://found.example/2?q=a%20b']

const SAYS: Readonly<Record<Four, Json>> = {
  messages: { messages: [{ role: 'user', content: [{ type: 'text', text: QUERY }] }] },
  chat: { messages: [{ role: 'user', content: QUERY }] },
  responses: { input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: QUERY }] }] },
  generate: { contents: [{ role: 'user', parts: [{ text: QUERY }] }] },
}

/** What the tools of each protocol send: Claude Code a request of its own, the others a tool beside their functions. */
const SEARCHES: Readonly<Record<Four, Json>> = {
  messages: {
    system: [{ type: 'text', text: 'You are an assistant for performing a web search tool use' }],
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8, blocked_domains: ['b.example'] }],
    tool_choice: { type: 'tool', name: 'web_search' },
  },
  chat: { web_search_options: { search_context_size: 'low' } },
  responses: {
    tools: [
      { type: 'function', name: 'shell', parameters: { type: 'object', properties: {} }, strict: false },
      { type: 'web_search', external_web_access: true },
    ],
    tool_choice: 'auto',
    include: ['reasoning.encrypted_content'],
    store: false,
  },
  generate: { tools: [{ googleSearch: {} }] },
}

/** How many searches are held, which follows from what the upstream is asked. `max_searches` of the model is 10. */
const HELD = (client: Four, via: Four): number => {
  const isLimited = client === 'messages' && via === 'responses'
  return isLimited ? 8 : 10
}

const modelBy = (via: Four): string => `gemini-3-by-${via}`

async function gateway(t: Test): Promise<{ s: Scene; simulator: Awaited<ReturnType<typeof simulate>> }> {
  const simulator = await simulate()
  t.teardown(() => simulator.close())
  const names = FOUR.map(via => modelBy(via))
  const s = await open(t, {
    prices: Object.fromEntries(names.map(name => [name, PRICE])),
    channels: Object.fromEntries(
      FOUR.map(via => [via, { protocols: [via], models: [modelBy(via)], base_url: simulator.url }]),
    ),
  })
  return { s, simulator }
}

interface Shown {
  links: unknown[]
  queries: unknown[]
}

const eventsOf = (text: string): Json[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string))
// biome-ignore lint/suspicious/noExplicitAny: documents of four protocols
type Any = any

/** What the tools read of an answer. */
const READS: Readonly<Record<Four, (document: Any) => Shown>> = {
  messages({ content }) {
    const results = content.filter((block: Any) => block.type === 'web_search_tool_result')
    const uses = content.filter((block: Any) => block.type === 'server_tool_use')
    return {
      links: results.flatMap((block: Any) => block.content.map(({ url }: Any) => url)),
      queries: uses.map((block: Any) => block.input.query),
    }
  },
  chat: ({ choices }) => ({
    links: choices[0].message.annotations.map((note: Any) => note.url_citation.url),
    queries: [],
  }),
  responses({ output }) {
    const calls = output.filter(({ type }: Any) => type === 'web_search_call')
    return {
      links: calls.flatMap(({ action }: Any) => action.sources.map(({ url }: Any) => url)),
      queries: calls.flatMap(({ action }: Any) => action.queries),
    }
  },
  generate({ candidates }) {
    const { groundingChunks, webSearchQueries } = candidates.at(-1).groundingMetadata
    return { links: groundingChunks.map(({ web }: Any) => web.uri), queries: webSearchQueries }
  },
}

/** The document that a stream comes to. */
const WHOLE: Readonly<Record<Four, (events: Any[]) => Any>> = {
  messages(events) {
    const content: Any[] = []
    for (const { type, index, content_block, delta } of events) {
      if (type === 'content_block_start') content[index] = { ...content_block }
      if (delta?.type === 'input_json_delta') content[index].input = JSON.parse(delta.partial_json)
    }
    return { content }
  },
  chat: events => ({
    choices: [{ message: { annotations: events.flatMap(({ choices }) => choices[0]?.delta.annotations ?? []) } }],
  }),
  responses: events => events.at(-1).response,
  generate: events => events.at(-1),
}

t.test('every client searches at every upstream: links, hold and fee', async t => {
  const { s } = await gateway(t)
  for (const client of FOUR)
    for (const via of FOUR.filter(one => one !== client))
      for (const stream of [false, true]) {
        const name = `${client} by ${via}${stream ? ', streamed' : ''}`
        const more = { ...SAYS[client], ...SEARCHES[client] }
        const asked = s.ask(asks(client, modelBy(via), { stream, more, max: 200 }))
        await asked.end()
        t.equal(asked.status, 200, `${name}: ${asked.text.slice(0, 300)}`)
        t.equal(asked.answer.headers.get('x-gateway-via'), via)
        const document = stream ? WHOLE[client](eventsOf(asked.text)) : JSON.parse(asked.text)
        const { links, queries } = READS[client](document)
        // an upstream of chat tells only what its text cites, and a client of chat is told only that
        const cited = client === 'chat' || via === 'chat'
        t.same(links, cited ? LINKS.slice(0, 1) : LINKS, `${name}: links`)
        if (client !== 'chat') t.same(queries, [QUERY], `${name}: what was searched for`)
        const { rows } = await s.books()
        const row = rows.at(-1)
        t.match(row, { protocol: client, via, charge: FEE }, name)
        t.match(
          row?.lines.find(line => line.class === 'web_search'),
          { count: 1 },
          name,
        )
        if (client === 'messages') t.match(asked.text, '"server_tool_use":{"web_search_requests":1}', name)
      }
  t.equal((await s.books()).ok, true)
})

t.test('searches are held before they are made, and estimated so', async t => {
  const s = await open(t, {
    prices: Object.fromEntries(FOUR.map(via => [modelBy(via), PRICE])),
    channels: Object.fromEntries(FOUR.map(via => [via, { protocols: [via], models: [modelBy(via)] }])),
  })
  for (const client of FOUR)
    for (const via of FOUR.filter(one => one !== client)) {
      const asked = s.ask(asks(client, modelBy(via), { more: { ...SAYS[client], ...SEARCHES[client] }, max: 200 }))
      const { calls } = s.at(via)
      const before = calls.length
      await until('the upstream is asked', () => calls.length > before || calls.length > 0)
      t.equal(s.services.ledger.heldTotal, HELD(client, via) * FEE, `${client} by ${via}`)
      calls.splice(0)[0]?.whole(400, { error: { message: 'no' } })
      await asked.end()
      const { path, headers, body } = asks(client, modelBy(via), { more: { ...SAYS[client], ...SEARCHES[client] } })
      const estimated = s.ask({ path: '/v1/estimate', headers: headers ?? {}, body: { path, body } })
      await estimated.end()
      const most = client === 'messages' && via === 'responses' ? 8 : 1000
      t.match(
        JSON.parse(estimated.text),
        { held: (HELD(client, via) * FEE) / 1e6, bound: (most * FEE) / 1e6, refusal: null },
        `${client} by ${via}`,
      )
    }
})
