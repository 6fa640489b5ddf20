/** Answers as providers send them, for the tests of what a meter reads from them: whole answers, and the same as streams. */
import type { Talking } from '../support/talking.ts'

export type Json = Record<string, unknown>

export interface Told {
  what: string
  protocol: Talking
  whole: Json
  /** The same as a stream; what it says has to be the same. */
  events: readonly (Json | string)[]
  /** What is found in it: classes of usage that are not 0, names of tiers, and kinds of pictures. */
  found: Readonly<Record<string, number | string>>
}

// --- messages

const named = (type: string, more: Json = {}): Json => ({ type, ...more })
const MESSAGE = {
  input_tokens: 15_665,
  cache_read_input_tokens: 200,
  cache_creation_input_tokens: 300,
  cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 150 },
  output_tokens: 700,
  output_tokens_details: { thinking_tokens: 300 },
  server_tool_use: { web_search_requests: 3, web_fetch_requests: 1 },
  service_tier: 'priority',
  speed: 'fast',
  inference_geo: 'us',
}
const WRITTEN = { cache_creation: { ephemeral_5m_input_tokens: 7 } }
const toolUse = (name: string, n: number): Json => ({ type: 'server_tool_use', id: `srvtoolu_${n}`, name, input: {} })
const BLOCKS = [
  toolUse('web_search', 1),
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [toolUse('web_search', 9)] },
  toolUse('web_fetch', 2),
  toolUse('web_search', 3),
  { type: 'tool_use', id: 't', name: 'web_search', input: { type: 'server_tool_use' } },
  { type: 'text', text: '"type":"server_tool_use","name":"web_search"' },
]
const messageEvents = (blocks: readonly Json[], start: Json, end: Json): Json[] => [
  named('message_start', { message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: start } }),
  ...blocks.flatMap((content_block, index) => [
    named('content_block_start', { index, content_block }),
    named('content_block_stop', { index }),
  ]),
  named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: end }),
  named('message_stop'),
]
const message = (content: readonly Json[], usage: Json): Json => ({ id: 'msg_1', type: 'message', content, usage })

const MESSAGES: Told[] = [
  {
    what: 'everything at once',
    protocol: 'messages',
    whole: message(BLOCKS, MESSAGE),
    events: messageEvents(
      BLOCKS,
      { ...MESSAGE, input_tokens: 2037, service_tier: 'standard', server_tool_use: null },
      {
        input_tokens: 15_665,
        output_tokens: 700,
        server_tool_use: MESSAGE.server_tool_use,
        service_tier: 'priority',
      },
    ),
    found: {
      input: 15_665,
      cache_read: 200,
      cache_write_5m: 150,
      cache_write_1h: 150,
      output: 700,
      searches: 3,
      service: 'priority',
      speed: 'fast',
      geo: 'us',
    },
  },
  {
    what: 'searches are seen and not reported; cache writes are told by life only',
    protocol: 'messages',
    whole: message(BLOCKS, { input_tokens: 5, output_tokens: 6, service_tier: 'auto', speed: null, ...WRITTEN }),
    events: messageEvents(BLOCKS, { input_tokens: 5, output_tokens: 1, ...WRITTEN }, { output_tokens: 6 }),
    found: { input: 5, cache_write_5m: 7, output: 6, searches: 2 },
  },
  {
    what: 'passes, and searches beside them',
    protocol: 'messages',
    whole: message([], {
      input_tokens: 612,
      output_tokens: 2819,
      server_tool_use: { web_search_requests: 2 },
      iterations: [
        { type: 'compaction', input_tokens: 60_385, output_tokens: 522 },
        { type: 'message', input_tokens: 612, output_tokens: 2819 },
      ],
    }),
    events: messageEvents(
      [],
      { input_tokens: 60_385, output_tokens: 1 },
      {
        input_tokens: 612,
        output_tokens: 2819,
        server_tool_use: { web_search_requests: 2 },
        iterations: [
          { type: 'compaction', input_tokens: 60_385, output_tokens: 522 },
          { type: 'message', input_tokens: 612, output_tokens: 2819 },
        ],
      },
    ),
    found: { input: 60_997, output: 3341, searches: 2 },
  },
]

// --- chat

const CHAT_USAGE = {
  prompt_tokens: 1000,
  completion_tokens: 500,
  total_tokens: 1500,
  prompt_tokens_details: {
    cached_tokens: 300,
    cache_write_tokens: 50,
    audio_tokens: 200,
    image_tokens: 100,
    text_tokens: 700,
    cached_tokens_details: { text_tokens: 100, audio_tokens: 150, image_tokens: 50 },
  },
  completion_tokens_details: {
    audio_tokens: 120,
    image_tokens: 80,
    text_tokens: 300,
    reasoning_tokens: 60,
    accepted_prediction_tokens: 5,
    rejected_prediction_tokens: 6,
  },
}
const chat = (message: Json, more: Json): Json => ({ id: 'c', choices: [{ index: 0, message }], ...more })
const chunk = (delta: Json | null, more: Json = {}): Json => ({
  id: 'c',
  choices: delta === null ? [] : [{ index: 0, delta }],
  usage: null,
  ...more,
})
const CITED = { annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com', title: 'a' } }] }

const CHAT: Told[] = [
  {
    what: 'everything at once',
    protocol: 'chat',
    whole: chat({ content: 'hello' }, { usage: CHAT_USAGE, service_tier: 'priority' }),
    events: [
      chunk({ content: 'hello' }, { service_tier: 'default' }),
      chunk(null, { usage: CHAT_USAGE, service_tier: 'priority' }),
      '[DONE]',
    ],
    found: {
      input: 550,
      input_audio: 50,
      input_image: 50,
      cache_read: 100,
      cache_read_audio: 150,
      cache_read_image: 50,
      cache_write_5m: 50,
      output: 300,
      output_audio: 120,
      output_image: 80,
      service: 'priority',
    },
  },
  {
    what: 'only the total tells of reasoning; a hit of the cache under its own name; the tier is auto',
    protocol: 'chat',
    whole: chat(
      { content: 'x' },
      {
        usage: { prompt_tokens: 12, completion_tokens: 2, total_tokens: 354, prompt_cache_hit_tokens: 4 },
        service_tier: 'auto',
      },
    ),
    events: [
      chunk({ content: 'x' }, { service_tier: 'auto' }),
      chunk(null, {
        usage: { prompt_tokens: 12, completion_tokens: 2, total_tokens: 354, prompt_cache_hit_tokens: 4 },
      }),
      '[DONE]',
    ],
    found: { input: 8, cache_read: 4, output: 342 },
  },
  {
    what: 'citations show that it searched',
    protocol: 'chat',
    whole: chat({ content: 'x', ...CITED }, { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
    events: [
      chunk({ content: 'x' }),
      chunk(CITED),
      chunk(CITED),
      chunk(null, { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
      '[DONE]',
    ],
    found: { input: 1, output: 2, searches: 1 },
  },
  ...[{ num_search_queries: 4 }, { server_tool_use: { web_search_requests: 4 } }].map(
    (more): Told => ({
      what: `a number of searches: ${Object.keys(more)[0]}`,
      protocol: 'chat',
      whole: chat({ content: 'x', ...CITED }, { usage: { prompt_tokens: 1, completion_tokens: 2, ...more } }),
      events: [chunk(CITED), chunk(null, { usage: { prompt_tokens: 1, completion_tokens: 2, ...more } }), '[DONE]'],
      found: { input: 1, output: 2, searches: 4 },
    }),
  ),
  {
    what: 'a text and a file that speak of citations',
    protocol: 'chat',
    whole: chat(
      { content: '"url_citation"', annotations: [{ type: 'file' }] },
      {
        usage: { prompt_tokens: 1, completion_tokens: 2 },
      },
    ),
    events: [
      chunk({ content: '{"annotations":[{"type":"url_citation"}]}', annotations: [{ type: 'file' }] }),
      chunk({ annotations: 'url_citation', url_citation: 1 }),
      chunk(null, { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
      '[DONE]',
    ],
    found: { input: 1, output: 2 },
  },
]

// --- responses

const RESPONSE_USAGE = {
  input_tokens: 1000,
  output_tokens: 500,
  total_tokens: 1500,
  input_tokens_details: {
    cached_tokens: 300,
    cache_write_tokens: 60,
    cache_write_tokens_details: { ttl_30m_tokens: 20, ttl_12h_tokens: 40 },
    audio_tokens: 30,
    image_tokens: 100,
    cached_tokens_details: { text_tokens: 280, audio_tokens: 10, image_tokens: 10 },
  },
  output_tokens_details: { reasoning_tokens: 100, audio_tokens: 20, image_tokens: 30 },
}
const TOOL_USAGE = {
  image_gen: {
    input_tokens: 50,
    input_tokens_details: { text_tokens: 20, image_tokens: 30 },
    cached_tokens: 9,
    cached_tokens_details: { cached_text_tokens: 5, cached_image_tokens: 4 },
    output_tokens: 1000,
    output_tokens_details: { text_tokens: 100, image_tokens: 900 },
    total_tokens: 1050,
  },
  web_search: { num_requests: 5 },
}
const PNG = 'iVBORw0KGgoAAAANSUhEUgAA'
const drawing = (id: string, more: Json = {}): Json => ({
  id,
  type: 'image_generation_call',
  status: 'completed',
  quality: 'high',
  result: PNG,
  size: '1024x1536',
  ...more,
})
const searched = (id: string, action?: Json): Json => ({
  id,
  type: 'web_search_call',
  status: 'completed',
  ...(action === undefined ? {} : { action }),
})
const OUTPUT = [
  searched('ws_1', { type: 'search', queries: ['a', 'b'], sources: [{ type: 'url', url: 'https://example.com' }] }),
  searched('ws_2', { type: 'open_page', url: 'https://example.com' }),
  searched('ws_3', { type: 'find_in_page', pattern: 'x' }),
  searched('ws_4', { type: 'search', query: 'c' }),
  searched('ws_5'),
  { id: 'fs_1', type: 'file_search_call', queries: [] },
  { id: 'msg_1', type: 'message', content: [{ type: 'output_text', text: '{"type":"web_search_call"}' }] },
]
const progress = (id: string, output_index: number): Json[] =>
  ['in_progress', 'searching', 'completed'].map(state => ({
    type: `response.web_search_call.${state}`,
    item_id: id,
    output_index,
  }))
const responseEvents = (output: readonly Json[], last: Json, first: Json = {}): Json[] => [
  { type: 'response.created', response: { id: 'r', output: [], usage: null, service_tier: 'auto', ...first } },
  ...output.flatMap((item, output_index) => [
    { type: 'response.output_item.added', output_index, item: { id: item['id'], type: item['type'] } },
    ...(item['type'] === 'web_search_call' ? progress(String(item['id']), output_index) : []),
    { type: 'response.output_item.done', output_index, item },
  ]),
  { type: 'response.completed', response: { id: 'r', output, ...last } },
]

const DRAWINGS = [drawing('ig_1'), drawing('ig_2'), drawing('ig_3', { size: '1024x1024', quality: null })]

const RESPONSES: Told[] = [
  {
    what: 'everything at once',
    protocol: 'responses',
    whole: { id: 'r', output: OUTPUT, usage: RESPONSE_USAGE, tool_usage: TOOL_USAGE, service_tier: 'flex' },
    events: responseEvents(OUTPUT, { usage: RESPONSE_USAGE, tool_usage: TOOL_USAGE, service_tier: 'flex' }),
    found: {
      input: 530 + 15,
      input_image: 90 + 26,
      input_audio: 20,
      cache_read: 280 + 5,
      cache_read_image: 10 + 4,
      cache_read_audio: 10,
      cache_write_5m: 20,
      cache_write_1h: 40,
      output: 450 + 100,
      output_image: 30 + 900,
      output_audio: 20,
      searches: 5,
      service: 'flex',
    },
  },
  {
    what: 'searches are seen and not reported',
    protocol: 'responses',
    whole: { id: 'r', output: OUTPUT, usage: { input_tokens: 1, output_tokens: 2 } },
    events: responseEvents(OUTPUT, { usage: { input_tokens: 1, output_tokens: 2 } }),
    found: { input: 1, output: 2, searches: 3 },
  },
  {
    what: 'pictures, each with its size and quality; what the tool drew without details is pictures',
    protocol: 'responses',
    whole: {
      id: 'r',
      output: DRAWINGS,
      usage: { input_tokens: 1, output_tokens: 2 },
      tool_usage: { image_gen: { input_tokens: 3, output_tokens: 4 } },
    },
    events: responseEvents(DRAWINGS, {
      usage: { input_tokens: 1, output_tokens: 2 },
      tool_usage: { image_gen: { input_tokens: 3, output_tokens: 4 } },
    }),
    found: { input: 4, output: 2, output_image: 4, images: 3, '1024x1536/high': 2, '1024x1024/': 1 },
  },
]

// --- generate

const list = (counts: Json): Json[] =>
  Object.entries(counts).map(([modality, tokenCount]) => ({ modality, tokenCount }))
const METADATA = {
  promptTokenCount: 1000,
  cachedContentTokenCount: 300,
  candidatesTokenCount: 400,
  thoughtsTokenCount: 50,
  toolUsePromptTokenCount: 70,
  totalTokenCount: 1520,
  promptTokensDetails: list({ TEXT: 500, IMAGE: 100, AUDIO: 200, VIDEO: 50, DOCUMENT: 150 }),
  cacheTokensDetails: list({ TEXT: 150, AUDIO: 100, IMAGE: 50 }),
  candidatesTokensDetails: list({ TEXT: 60, IMAGE: 300, AUDIO: 40 }),
  toolUsePromptTokensDetails: list({ TEXT: 40, IMAGE: 20, AUDIO: 10 }),
  serviceTier: 'priority',
}
const generated = (text: string, more: Json = {}, candidate: Json = {}): Json => ({
  candidates: [{ content: { parts: [{ text }] }, ...candidate }],
  responseId: 'r',
  modelVersion: 'm',
  ...more,
})
const grounded = (...webSearchQueries: string[]): Json => ({ groundingMetadata: { webSearchQueries } })
const LAST = { finishReason: 'STOP' }

const GENERATE: Told[] = [
  {
    what: 'everything at once',
    protocol: 'generate',
    whole: generated('x', { usageMetadata: METADATA }, { ...LAST, ...grounded('a', 'b') }),
    events: [
      generated('x', { usageMetadata: { promptTokenCount: 1000 } }, grounded('a')),
      generated('', { usageMetadata: METADATA }, { ...LAST, ...grounded('a', 'b', '', 'a') }),
    ],
    found: {
      input: 500 + 40,
      input_image: 100 + 20,
      input_audio: 100 + 10,
      cache_read: 150,
      cache_read_image: 50,
      cache_read_audio: 100,
      output: 110,
      output_image: 300,
      output_audio: 40,
      searches: 2,
      service: 'priority',
    },
  },
  ...Object.entries({
    ON_DEMAND_FLEX: 'flex',
    ON_DEMAND: 'standard',
    PROVISIONED_THROUGHPUT: 'provisioned_throughput',
  }).map(
    ([trafficType, service]): Told => ({
      what: `traffic ${trafficType}; no candidates are counted; a query that stands alone`,
      protocol: 'generate',
      whole: generated(
        'x',
        { usageMetadata: { promptTokenCount: 5, totalTokenCount: 9, trafficType } },
        { ...LAST, ...grounded('a') },
      ),
      events: [
        generated('x', { usageMetadata: { trafficType } }),
        generated('', {}, grounded('a')),
        generated('', { usageMetadata: { promptTokenCount: 5, totalTokenCount: 9, trafficType } }, LAST),
      ],
      found: { input: 5, output: 4, searches: 1, service },
    }),
  ),
  {
    what: 'a tier that says nothing',
    protocol: 'generate',
    whole: generated(
      'x',
      { usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 4, serviceTier: 'unspecified' } },
      LAST,
    ),
    events: [
      generated(
        'x',
        { usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 4, trafficType: 'TRAFFIC_TYPE_UNSPECIFIED' } },
        LAST,
      ),
    ],
    found: { input: 5, output: 4 },
  },
]

// --- images

const IMAGES_USAGE = {
  input_tokens: 50,
  input_tokens_details: { text_tokens: 20, image_tokens: 30 },
  output_tokens: 1000,
  output_tokens_details: { text_tokens: 10, image_tokens: 990 },
  total_tokens: 1050,
}
const kind = { size: '1536x1024', quality: 'medium' }

const IMAGES: Told[] = [
  {
    what: 'everything at once',
    protocol: 'images',
    whole: { created: 1, data: [{ b64_json: PNG }], ...kind, usage: IMAGES_USAGE },
    events: [
      { type: 'image_generation.partial_image', b64_json: PNG, size: '1x1', quality: 'low', partial_image_index: 0 },
      { type: 'image_generation.completed', b64_json: PNG, ...kind, usage: IMAGES_USAGE },
    ],
    found: { input: 20, input_image: 30, output: 10, output_image: 990, images: 1, '1536x1024/medium': 1 },
  },
  {
    what: 'two pictures without tokens',
    protocol: 'images',
    whole: { created: 1, data: [{ url: 'https://example.com/1' }, { url: 'https://example.com/2' }], ...kind },
    events: [
      { type: 'image_generation.completed', b64_json: PNG, ...kind },
      { type: 'image_generation.completed', b64_json: PNG, ...kind },
    ],
    found: { images: 2, '1536x1024/medium': 2 },
  },
]

export const TOLD: readonly Told[] = [...MESSAGES, ...CHAT, ...RESPONSES, ...GENERATE, ...IMAGES]
