/**
 * Hosted web search in requests from one protocol to another: the tool, what it may say of domains, places and uses, a search that is
 * forced, what a provider of chat completions calls it, and what an upstream that has no search is told.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import type { KindName } from '../../lib/catalog-file/upstreams.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { KINDS } from '../../lib/protocols/words/kinds.ts'
import { plainTarget, type TranslationTarget, type Written } from '../../lib/translate/ask.ts'
import type { LossWord } from '../../lib/translate/events.ts'
import { envelopeCuts } from '../../lib/translate/opaque.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { targetOf } from '../../lib/world/table.ts'
import type { Loose } from './support/answers.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'
import { bodyOf } from './support/rows.ts'

const SAYS: ReadonlyMap<Translated, object> = new Map([
  [messages, { max_tokens: 99, messages: [{ role: 'user', content: 'news?' }] }],
  [chat, { messages: [{ role: 'user', content: 'news?' }] }],
  [responses, { input: 'news?' }],
  [generate, { contents: [{ role: 'user', parts: [{ text: 'news?' }] }] }],
])

function asked(
  from: Translated,
  to: Translated,
  more: object,
  target: Partial<TranslationTarget> = {},
  searches = true,
): Written {
  const body = Buffer.from(JSON.stringify({ ...SAYS.get(from), ...more }))
  const ask = from.readRequest(body, { model: 'model', stream: true, searches })
  return to.writeRequest(ask, { ...plainTarget('up'), ...target })
}

const M = { type: 'web_search_20250305', name: 'web_search' }
const PLACE = { type: 'approximate', city: 'Köln', country: 'DE', timezone: 'Europe/Berlin' }
const FUNCTION = { name: 'f', input_schema: { type: 'object' } }
const DOMAINS = ['a.example', 'b.example']
const LOCATED = { approximate: { city: 'Köln', country: 'DE', timezone: 'Europe/Berlin' }, type: 'approximate' }

/** What stands between backticks. */
const wordsIn = (text = ''): string[] => [...text.matchAll(/`([a-z-]+)`/g)].map(found => found[1] as string)

interface Row {
  what: string
  from: Translated
  more: object
  to: Translated
  target?: Partial<TranslationTarget>
  gets: object
  losses?: LossWord[]
}

const ROWS: Row[] = [
  {
    what: 'messages to responses: uses, domains and the place of the user',
    from: messages,
    more: { tools: [{ ...M, max_uses: 3, allowed_domains: DOMAINS, user_location: PLACE }] },
    to: responses,
    gets: {
      tools: [{ type: 'web_search', filters: { allowed_domains: DOMAINS }, user_location: PLACE }],
      max_tool_calls: 3,
      include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
      tool_choice: undefined,
    },
  },
  {
    what: 'messages to responses: blocked domains have no place',
    from: messages,
    more: { tools: [{ ...M, blocked_domains: DOMAINS }] },
    to: responses,
    gets: { tools: [{ type: 'web_search', filters: undefined }] },
    losses: ['search_domains'],
  },
  {
    what: 'messages to responses: the only tool is forced as any tool',
    from: messages,
    more: { tools: [M], tool_choice: { type: 'tool', name: 'web_search' } },
    to: responses,
    gets: { tools: [{ type: 'web_search' }], tool_choice: 'required' },
  },
  {
    what: 'messages to responses: beside functions it is forced by its type',
    from: messages,
    more: { tools: [FUNCTION, M], tool_choice: { type: 'tool', name: 'web_search' } },
    to: responses,
    gets: { tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }], tool_choice: { type: 'web_search' } },
  },
  {
    what: 'messages to chat: the search of Claude Code, which cannot be forced',
    from: messages,
    more: { tools: [{ ...M, max_uses: 8 }], tool_choice: { type: 'tool', name: 'web_search' } },
    to: chat,
    gets: { web_search_options: {}, tools: undefined, tool_choice: undefined },
    losses: ['max_tool_calls', 'tool_choice'],
  },
  {
    what: 'messages to generate: the search of Claude Code',
    from: messages,
    more: { tools: [M], tool_choice: { type: 'tool', name: 'web_search' } },
    to: generate,
    gets: { tools: [{ googleSearch: {} }], toolConfig: undefined },
    losses: ['tool_choice'],
  },
  {
    what: 'responses to messages: place and size, and a maximum of calls is one of uses',
    from: responses,
    more: {
      tools: [{ type: 'web_search', search_context_size: 'high', user_location: PLACE, external_web_access: false }],
      max_tool_calls: 2,
    },
    to: messages,
    gets: { tools: [{ ...M, max_uses: 2, user_location: PLACE }], tool_choice: undefined },
    losses: ['search_options'],
  },
  {
    what: 'responses to messages: forced by its type',
    from: responses,
    more: {
      tools: [{ type: 'web_search_preview_2025_03_11' }, { type: 'function', name: 'f' }],
      tool_choice: { type: 'web_search_preview_2025_03_11' },
    },
    to: messages,
    gets: { tools: [{ name: 'f' }, M], tool_choice: { type: 'tool', name: 'web_search' } },
  },
  {
    what: 'responses to messages: one that thinks cannot be forced',
    from: responses,
    more: { tools: [{ type: 'web_search' }], tool_choice: 'required', reasoning: { effort: 'high' } },
    to: messages,
    target: { thinking: 'adaptive' },
    gets: { tools: [M], tool_choice: { type: 'auto' } },
    losses: ['tool_choice'],
  },
  {
    what: 'responses to chat: options',
    from: responses,
    more: { tools: [{ type: 'web_search', search_context_size: 'low', user_location: PLACE }] },
    to: chat,
    gets: { web_search_options: { search_context_size: 'low', user_location: LOCATED } },
  },
  {
    what: 'responses: a search that is not among the tools that are allowed is none',
    from: responses,
    more: {
      tools: [{ type: 'web_search' }, { type: 'function', name: 'f' }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    },
    to: messages,
    gets: { tools: [{ name: 'f' }] },
  },
  {
    what: 'responses: nothing but the search is allowed, and one of these has to be called',
    from: responses,
    more: {
      tools: [{ type: 'web_search' }, { type: 'function', name: 'f' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
    },
    to: messages,
    gets: { tools: [M], tool_choice: { type: 'tool', name: 'web_search' } },
  },
  {
    what: 'chat to responses: options',
    from: chat,
    more: { web_search_options: { search_context_size: 'low', user_location: LOCATED } },
    to: responses,
    gets: { tools: [{ type: 'web_search', search_context_size: 'low', user_location: PLACE }] },
  },
  {
    what: 'chat to messages: a tool and a switch of vendors are a search, too',
    from: chat,
    more: { enable_search: true },
    to: messages,
    gets: { tools: [M] },
  },
  {
    what: 'chat to messages: the plugin of OpenRouter searches always',
    from: chat,
    more: {
      plugins: [
        { id: 'web', include_domains: DOMAINS },
        { id: 'pdf', enabled: false },
      ],
    },
    to: messages,
    gets: { tools: [{ ...M, allowed_domains: DOMAINS }], tool_choice: { type: 'tool', name: 'web_search' } },
  },
  {
    what: 'chat to responses: the tool of OpenRouter, and another plugin',
    from: chat,
    more: {
      tools: [{ type: 'openrouter:web_search', parameters: { search_context_size: 'low', excluded_domains: DOMAINS } }],
      plugins: [{ id: 'pdf' }],
    },
    to: responses,
    gets: { tools: [{ type: 'web_search', search_context_size: 'low' }] },
    losses: ['other', 'search_domains'],
  },
  {
    what: 'chat to generate: a tool of that type',
    from: chat,
    more: { tools: [{ type: 'web_search', search_context_size: 'low' }] },
    to: generate,
    gets: { tools: [{ googleSearch: {} }] },
    losses: ['search_options'],
  },
  {
    what: 'generate to messages: domains that shall not be searched',
    from: generate,
    more: { tools: [{ google_search: { excludeDomains: DOMAINS } }] },
    to: messages,
    gets: { tools: [{ ...M, blocked_domains: DOMAINS }] },
  },
  {
    what: 'generate to chat',
    from: generate,
    more: { tools: [{ googleSearch: {} }] },
    to: chat,
    gets: { web_search_options: {} },
  },
  {
    what: 'generate to responses, beside functions',
    from: generate,
    more: { tools: [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {} }] },
    to: responses,
    gets: { tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }] },
  },
  {
    what: 'to generate beside functions: the third generation says so',
    from: messages,
    more: { tools: [FUNCTION, M] },
    to: generate,
    target: { thinking: 'level' },
    gets: {
      tools: [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {} }],
      toolConfig: { includeServerSideToolInvocations: true },
    },
  },
  {
    what: 'to generate beside functions: others drop it by name',
    from: messages,
    more: { tools: [FUNCTION, M] },
    to: generate,
    gets: { tools: [{ functionDeclarations: [{ name: 'f' }] }], toolConfig: undefined },
    losses: ['hosted_tools'],
  },
  {
    what: 'an upstream without a search: what is only offered is dropped',
    from: responses,
    more: { tools: [{ type: 'web_search' }, { type: 'function', name: 'f' }] },
    to: chat,
    target: { search: null },
    gets: { tools: [{ function: { name: 'f' } }], web_search_options: undefined },
    losses: ['hosted_tools'],
  },
  {
    what: 'no tool may be called, and so none is asked for',
    from: messages,
    more: { tools: [FUNCTION, M], tool_choice: { type: 'none' } },
    to: chat,
    gets: { tools: [{ function: { name: 'f' } }], tool_choice: 'none', web_search_options: undefined },
  },
  {
    what: 'a function of that name is another tool',
    from: responses,
    more: { tools: [{ type: 'web_search' }, { type: 'function', name: 'web_search' }] },
    to: messages,
    gets: { tools: [{ name: 'web_search', type: undefined }] },
    losses: ['hosted_tools'],
  },
  {
    what: 'GLM, forced: what was found is asked for, and no intent is looked for',
    from: messages,
    more: { tools: [{ ...M, allowed_domains: ['a.example'] }], tool_choice: { type: 'any' } },
    to: chat,
    target: { search: 'zhipu' },
    gets: {
      tools: [
        {
          type: 'web_search',
          web_search: { enable: true, search_result: true, search_intent: false, search_domain_filter: 'a.example' },
        },
      ],
      tool_choice: undefined,
    },
  },
  {
    what: 'GLM takes one domain only',
    from: messages,
    more: { tools: [FUNCTION, { ...M, allowed_domains: DOMAINS }] },
    to: chat,
    target: { search: 'zhipu' },
    gets: { tools: [{ type: 'function' }, { web_search: { search_intent: undefined } }] },
    losses: ['search_domains'],
  },
  {
    what: 'Qwen, forced',
    from: messages,
    more: { tools: [M], tool_choice: { type: 'tool', name: 'web_search' } },
    to: chat,
    target: { search: 'dashscope' },
    gets: { enable_search: true, search_options: { forced_search: true }, tools: undefined },
  },
  {
    what: 'OpenRouter: a search that is offered is a tool',
    from: messages,
    more: { tools: [FUNCTION, { ...M, blocked_domains: DOMAINS, user_location: PLACE }] },
    to: chat,
    target: { search: 'openrouter' },
    gets: {
      tools: [
        { type: 'function' },
        { type: 'openrouter:web_search', parameters: { excluded_domains: DOMAINS, user_location: PLACE } },
      ],
      plugins: undefined,
    },
  },
  {
    what: 'OpenRouter: one that is forced is the plugin, which always searches',
    from: messages,
    more: { tools: [{ ...M, allowed_domains: DOMAINS }], tool_choice: { type: 'tool', name: 'web_search' } },
    to: chat,
    target: { search: 'openrouter' },
    gets: { plugins: [{ id: 'web', include_domains: DOMAINS }], tools: undefined },
  },
]

for (const { what, from, more, to, target, gets, losses = [] } of ROWS)
  t.test(what, async t => {
    const written = asked(from, to, more, target)
    t.match(bodyOf(written), gets)
    t.same([...written.losses].sort(), losses)
    t.equal(asked(from, to, more, target).body, written.body, 'the same bytes again')
  })

t.test('refused where the upstream has no search, or searches have no price', async t => {
  const forced = { tools: [FUNCTION, M], tool_choice: { type: 'tool', name: 'web_search' } }
  const rows: [Translated, object, boolean, string][] = [
    [messages, { tools: [M] }, true, 'tools'],
    [messages, forced, true, 'tools'],
    [responses, { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }, true, 'tools'],
    [messages, { tools: [M] }, false, 'tools'],
    [messages, forced, false, 'tool_choice'],
    [responses, { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }, false, 'tool_choice'],
  ]
  for (const [from, more, searches, field] of rows)
    t.throws(
      () => asked(from, chat, more, { search: null }, searches),
      { name: 'Error', field },
      JSON.stringify([more, searches]),
    )
  t.match([...asked(chat, messages, { web_search_options: {} }, {}, false).losses], ['hosted_tools'])
  const plugin = { plugins: [{ id: 'web' }], tools: [{ type: 'function', function: { name: 'f' } }] }
  const written = asked(chat, messages, plugin, {}, false)
  t.match(bodyOf(written), { tools: [{ name: 'f' }], tool_choice: undefined }, 'nothing forces what is not there')
})

t.test('how each kind of provider is asked', async t => {
  const rows: [
    kind: string | null,
    via: 'messages' | 'chat' | 'responses' | 'generate',
    model: string,
    words: unknown,
  ][] = [
    [null, 'chat', 'm', 'own'],
    ['openai', 'chat', 'gpt-5', null],
    ['openai', 'chat', 'gpt-5-search-api', 'own'],
    ['openai', 'responses', 'gpt-5', 'own'],
    ['moonshot', 'chat', 'kimi', null],
    ['perplexity', 'chat', 'sonar', 'own'],
    ['zhipu', 'chat', 'glm', 'zhipu'],
    ['zhipu', 'messages', 'glm', null],
    ['dashscope', 'chat', 'qwen', 'dashscope'],
    ['dashscope', 'responses', 'qwen', 'plain'],
    ['openrouter', 'chat', 'a/b', 'openrouter'],
    ['bedrock', 'messages', 'claude', null],
    ['vertex', 'messages', 'claude', 'own'],
    ['vertex', 'generate', 'gemini', 'plain'],
    ['gemini', 'generate', 'gemini', 'own'],
  ]
  for (const [kind, via, model, words] of rows)
    t.equal(
      targetOf({ kind, cacheMarks: null } as never, undefined, model, via).search,
      words,
      `${kind} ${via} ${model}`,
    )
})

t.test('docs/translation.md names the kinds that are asked to search, by protocol', async t => {
  const page = readFileSync(path.join(import.meta.dirname, '../../docs/translation.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (messages|chat|responses) \| ([^|]+) \|/gm)]
  const named = (via: string): Set<string> =>
    new Set(rows.filter(row => row[1] === via).flatMap(row => wordsIn(row[2])))
  const kinds = Object.keys(KINDS) as KindName[]
  const asked = (via: 'messages' | 'chat' | 'responses'): string[] =>
    kinds.filter(kind => targetOf({ kind, cacheMarks: null } as never, undefined, 'm', via).search !== null)
  const speaking = (via: 'messages' | 'chat', all: string[]): string[] =>
    all.filter(kind => Object.hasOwn(protocolRow(via).upstream.kinds, kind))
  for (const via of ['messages', 'chat'] as const) {
    const known = kinds.filter(kind => named(via).has(kind))
    t.same(speaking(via, asked(via)), known, via)
  }
  t.same(
    kinds.filter(kind => !asked('responses').includes(kind)),
    ['bedrock', 'bedrock-api-key', 'groq'],
  )
  t.match(page, '| responses | all but `groq`, `bedrock` and `bedrock-api-key` |')
})

// --- what comes back with the history

const ENVELOPE = 'gw1.abcdefghijkl.f..It \\"is\\" so'
const result = (id: string, encrypted_content: string) => [
  { type: 'server_tool_use', id, name: 'web_search', input: { query: 'x' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: id,
    content: [{ type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content, page_age: null }],
  },
]
const cited = {
  type: 'text',
  text: 'So it is.',
  citations: [{ type: 'web_search_result_location', url: 'u', title: 't', cited_text: '', encrypted_index: 'gw1.x' }],
}
const history = (...content: object[]) => ({
  messages: [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, ...content] },
    { role: 'user', content: 'more' },
  ],
})

t.test('a search of ours comes back as a call and its result', async t => {
  const more = history(...result('srvtoolu_gw1_01abc_1_0', JSON.parse(`"${ENVELOPE}"`)), cited)
  const written = asked(messages, chat, more)
  const id = 'srvtoolu_gw1_01abc_1_0'
  t.same(bodyOf(written)['messages'], [
    { role: 'user', content: 'q' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ id, type: 'function', function: { name: 'web_search', arguments: '{"query":"x"}' } }],
    },
    { role: 'tool', content: 'A\nhttps://a.example\nIt "is" so', tool_call_id: id },
    { role: 'assistant', content: 'So it is.' },
    { role: 'user', content: 'more' },
  ])
  t.same([...written.losses], [])
})

t.test('a search of another upstream comes back as text, with a loss', async t => {
  const written = asked(messages, chat, history(...result('srvtoolu_01', 'opaque'), cited))
  const [, said] = bodyOf(written)['messages'] as Loose[]
  t.equal(said?.['content'], 'I look.\n\nFound in the web:\n\nA\nhttps://a.example\n\nSo it is.')
  t.same([...written.losses], ['server_tools'])
  const failed = { type: 'web_search_tool_result', tool_use_id: 's', content: { type: 'web_search_tool_result_error' } }
  t.same([...asked(messages, chat, history(failed)).losses], ['server_tools'])
})

t.test('a native upstream gets nothing of a search of ours, and all of its own', async t => {
  const native = JSON.stringify(history(...result('srvtoolu_01', 'opaque')))
  const text = JSON.stringify(history(...result('srvtoolu_gw1_01abc_1_0', JSON.parse(`"${ENVELOPE}"`)), cited))
  const cut = (body: string): Loose => {
    let left = body
    for (const { span, word } of envelopeCuts(body, messages.state, plainTarget('m')).reverse())
      left = left.slice(0, span.start) + word + left.slice(span.end)
    return JSON.parse(left)
  }
  t.same(cut(text), history({ ...cited, citations: [] }))
  t.same(cut(native), JSON.parse(native))
})
