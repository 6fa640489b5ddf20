/**
 * Answers of the vendors' own servers with all of their members, as others have recorded them, and how what we write differs from them.
 */
import type { Loose } from './answers.ts'

export interface Vendor {
  whole: readonly Loose[]
  events: readonly Loose[]
  /** Answers with a status of an error. */
  errors: readonly Loose[]
  /** A pattern of the difference, and why it is one. */
  differs: readonly [pattern: RegExp, why: string][]
}

const ANTHROPIC_USAGE = {
  input_tokens: 8,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: 1,
  service_tier: 'standard',
  inference_geo: 'global',
}
const ANTHROPIC = { id: 'msg_011Cf4RCSGGVqdrib7eAZKZx', type: 'message', role: 'assistant', model: 'claude-opus-4-6' }
const UNSTOPPED = { stop_reason: null, stop_sequence: null, stop_details: null }
const CALLER = { type: 'direct' }

/**
 * From https://github.com/vercel/ai/tree/main/packages/anthropic/src/__fixtures__: issue-13430-thinking-tool-call, anthropic-web-search-tool.1,
 * anthropic-claude-sonnet-5-reasoning-summarized, anthropic-refusal, anthropic-issue-17366-error; texts and states are shortened.
 */
const SIGNATURE = 'Eq4CCpIBCBIYAipAM+SGYGx7V1aPBT2LXi5M54elabwL'
const SEARCH_USE = 'srvtoolu_01Qxbje4duKBes3Nj42MkZug'
const NEWS = { title: 'Latest News - Apple Developer', url: 'https://developer.apple.com/news/' }
const THINKING = { type: 'thinking', thinking: 'The user wants me to call it.', signature: SIGNATURE }
const ANTHROPIC_MORE: readonly Loose[] = [
  {
    ...ANTHROPIC,
    content: [THINKING, { type: 'tool_use', id: 'toolu_017R', name: 'check', input: {}, caller: CALLER }],
    ...UNSTOPPED,
    stop_reason: 'tool_use',
    usage: { ...ANTHROPIC_USAGE, output_tokens_details: { thinking_tokens: 18 } },
  },
  {
    ...ANTHROPIC,
    content: [
      { type: 'server_tool_use', id: SEARCH_USE, name: 'web_search', input: { query: 'tech news' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: SEARCH_USE,
        content: [{ type: 'web_search_result', ...NEWS, encrypted_content: 'EuAdCioICBgC', page_age: null }],
      },
      {
        type: 'text',
        text: 'News.',
        citations: [
          { type: 'web_search_result_location', cited_text: 'News', ...NEWS, encrypted_index: 'Eo8BCioIAhgBIiQyYjQ0' },
        ],
      },
    ],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { ...ANTHROPIC_USAGE, server_tool_use: { web_search_requests: 1 } },
  },
]
const ANTHROPIC_THINKS: readonly Loose[] = [
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'I' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: SIGNATURE } },
  { type: 'content_block_stop', index: 0 },
]

/** The stream of anthropic-web-search-tool.1. */
const ANTHROPIC_SEARCHES: readonly Loose[] = [
  {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'server_tool_use', id: SEARCH_USE, name: 'web_search', input: {} },
  },
  { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"query": "t' } },
  {
    type: 'content_block_delta',
    index: 13,
    delta: {
      type: 'citations_delta',
      citation: { type: 'web_search_result_location', cited_text: 'News', ...NEWS, encrypted_index: 'EpABCioICBgC' },
    },
  },
  {
    type: 'content_block_start',
    index: 1,
    content_block: {
      type: 'web_search_tool_result',
      tool_use_id: SEARCH_USE,
      content: [
        { type: 'web_search_result', ...NEWS, encrypted_content: 'ErkeCioICBgC', page_age: null },
        { type: 'web_search_result', ...NEWS, encrypted_content: 'Ev0YCioICBgC', page_age: '3 hours ago' },
      ],
    },
  },
]

/**
 * From https://github.com/vercel/ai/tree/main/packages/openai/src/responses/__fixtures__: issue-19493-gpt-5.1-tool-call, issue-20047-openai-responses,
 * openai-reasoning-encrypted-content.1, openai-web-search-tool.1, openai-image-generation-tool.1, openai-tool-search-duplicate-item-error.1.
 */
const NO_TOKENS = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { image_tokens: 0, text_tokens: 0 },
  total_tokens: 0,
}
const response = (status: string, output: readonly Loose[]): Loose => ({
  id: 'resp_0775572d10a16b66006a8d85285ef487d2ae865d3657af7276',
  object: 'response',
  created_at: 1_787_659_560,
  status,
  background: false,
  completed_at: status === 'completed' ? 1_787_659_561 : null,
  error: null,
  frequency_penalty: 0,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: 'gpt-5.1-2025-11-13',
  moderation: null,
  output,
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  prompt_cache_retention: 'in_memory',
  reasoning: { context: 'current_turn', effort: 'none', mode: 'standard', summary: null },
  safety_identifier: null,
  service_tier: 'auto',
  store: true,
  temperature: 1,
  text: { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tool_usage: { image_gen: NO_TOKENS, web_search: { num_requests: 0 } },
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage:
    status === 'completed'
      ? {
          input_tokens: 45,
          input_tokens_details: { cache_write_tokens: 0, cached_tokens: 0 },
          output_tokens: 25,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 70,
        }
      : null,
  user: null,
  metadata: {},
})
const FC = 'fc_0775572d10a16b66006a8d8528e8a887d2a32ef76463d40c98'
const functionCall = (status: string, args: string): Loose => ({
  id: FC,
  type: 'function_call',
  status,
  arguments: args,
  call_id: 'call_2FQdm3Br7Qb35YUBSkDR7kue',
  name: 'get_weather',
})
const part = (text: string): Loose => ({ type: 'output_text', annotations: [], logprobs: [], text })
const message = (status: string, content: readonly Loose[]): Loose => ({
  id: 'msg_sanitized_streaming',
  type: 'message',
  status,
  content,
  role: 'assistant',
})
const ARGS = '{"city":"Beijing"}'
const RS = { item_id: 'rs_01830d662ab3856501693c321405c88190be3ab04d5782d5f9', output_index: 0, summary_index: 0 }
const reasoning = (summary: readonly Loose[]): Loose => ({
  id: RS.item_id,
  type: 'reasoning',
  encrypted_content: 'gAAAAABpPDIUph8czEXzDePCV2lJ27wm7TsbCvazrvHS',
  summary,
})
const summaryOf = (text: string): Loose => ({ type: 'summary_text', text })
const WHOLE = response('completed', [message('completed', [part('OK')]), functionCall('completed', ARGS)])
const THOUGHT = response('completed', [reasoning([summaryOf('I compute.')])])
const CITING: Loose = {
  ...part('It is.'),
  annotations: [
    { type: 'url_citation', start_index: 486, end_index: 606, url: 'https://www.axios.com/', title: 'A statue' },
  ],
}
const SEARCHED = response('completed', [
  {
    type: 'web_search_call',
    id: 'ws_67cf2b3051e88190b006770db6fdb13d',
    status: 'completed',
    action: {
      type: 'search',
      query: 'Vercel AI SDK next version features',
      sources: [{ type: 'url', url: 'https://vercel.com/blog' }],
    },
  },
  message('completed', [CITING]),
])
const WS = { output_index: 1, item_id: 'ws_68c187d0973881928c78c79e50ae028805ca09a4773fcd25' }
const IG = { output_index: 1, item_id: 'ig_0df93c0bb83a72f20068c979f589c0819e9f0fc2d1a27aa1b8' }
const DRAWING: Loose = { id: IG.item_id, type: 'image_generation_call', status: 'in_progress' }
const DRAWN: Loose = {
  ...DRAWING,
  status: 'completed',
  background: 'opaque',
  output_format: 'webp',
  quality: 'low',
  result: 'UklGRuIWGQBXRUJQVlA4TKAwGAAv',
  revised_prompt: 'Create it.',
  size: '1536x1024',
}
const SEARCHES: readonly Loose[] = [
  {
    type: 'response.output_item.added',
    output_index: 1,
    item: { id: WS.item_id, type: 'web_search_call', status: 'in_progress' },
  },
  { type: 'response.web_search_call.in_progress', ...WS },
  { type: 'response.web_search_call.searching', ...WS },
  { type: 'response.web_search_call.completed', ...WS },
  {
    type: 'response.output_item.done',
    output_index: 1,
    item: {
      id: WS.item_id,
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: 'news', sources: [{ type: 'url', url: 'https://www.reuters.com/' }] },
    },
  },
  {
    type: 'response.output_text.annotation.added',
    item_id: 'msg_68c187e279048192be3775da689aa25105ca09a4773fcd25',
    output_index: 9,
    content_index: 0,
    annotation_index: 0,
    annotation: { type: 'url_citation', end_index: 4, start_index: 3, title: 'A', url: 'https://www.reuters.com/' },
  },
]
const CITES: readonly Loose[] = [
  { type: 'response.content_part.done', item_id: WS.item_id, output_index: 9, content_index: 0, part: CITING },
  { type: 'response.output_item.done', output_index: 9, item: message('completed', [CITING]) },
]
const DRAWS: readonly Loose[] = [
  { type: 'response.output_item.added', output_index: 1, item: DRAWING },
  { type: 'response.image_generation_call.in_progress', ...IG },
  { type: 'response.image_generation_call.generating', ...IG },
  { type: 'response.image_generation_call.completed', ...IG },
  { type: 'response.output_item.done', output_index: 1, item: DRAWN },
]
const at = { item_id: 'msg_sanitized_streaming', output_index: 0, content_index: 0 }
const ofCall = { item_id: FC, output_index: 0 }
const numbered = (event: Loose, sequence_number: number): Loose => ({ ...event, sequence_number })

const chunk = (delta: Loose, finish_reason: string | null = null): Loose => ({
  id: 'chatcmpl-AIXBVjvIrBwLMcdUfqBsCEVwteQuK',
  object: 'chat.completion.chunk',
  created: 1_728_980_829,
  model: 'gpt-4o-mini-2024-07-18',
  system_fingerprint: 'fp_e2bde53e6e',
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  usage: null,
})
/** From a stream of gpt-4o-mini-search-preview, as https://github.com/lobehub/lobe-chat keeps it beside its reader of such streams. */
const CITED: Loose = {
  id: 'chatcmpl-18037d13-243c-4941-8b05-9530b352cf17',
  object: 'chat.completion.chunk',
  created: 1_748_351_805,
  model: 'gpt-4o-mini-search-preview-2025-03-11',
  choices: [
    {
      index: 0,
      delta: {
        annotations: [
          {
            type: 'url_citation',
            url_citation: { url: 'https://zh.wikipedia.org/', title: 'A park', start_index: 75, end_index: 199 },
          },
        ],
      },
      finish_reason: 'stop',
    },
  ],
  service_tier: 'default',
}
const call = { index: 0, id: 'call_ZkuSWztTvaOxQeT6TFITm3sa', type: 'function' }
const CHAT_USAGE = {
  prompt_tokens: 13,
  completion_tokens: 12,
  total_tokens: 25,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
}

/** From google-image-gemini-3.1-flash-image and issue-10660-image-thought-signature of packages/google there, whole and as a chunk. */
const PICTURE: Loose = {
  candidates: [
    {
      content: {
        parts: [
          { inlineData: { mimeType: 'image/jpeg', data: 'AA==' }, thoughtSignature: 'live-image-thought-signature' },
        ],
        role: 'model',
      },
      finishReason: 'STOP',
      index: 0,
    },
  ],
  usageMetadata: {
    promptTokenCount: 10,
    candidatesTokenCount: 1392,
    totalTokenCount: 1402,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
    candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1120 }],
    serviceTier: 'standard',
  },
  modelVersion: 'gemini-3.1-flash-image',
  responseId: 'dTOras2iGqLc-sAPiO2BiAw',
}

const OPENAI_ERROR = { error: { message: 'Duplicate item', type: 'invalid_request_error', param: 'input', code: null } }
const NOT_OURS = 'says how the vendor ran the request, which we do not know of another upstream'
const DETAILS = 'counts what no other protocol counts, and is absent in older answers of the vendor'

export const VENDORS: Readonly<Record<'messages' | 'chat' | 'responses' | 'generate', Vendor>> = {
  messages: {
    whole: [
      { ...ANTHROPIC, content: [], container: null, ...UNSTOPPED, stop_reason: 'max_tokens', usage: ANTHROPIC_USAGE },
      {
        ...ANTHROPIC,
        content: [
          { type: 'tool_use', id: 'toolu_01AbCdEfGhIjKlMnOpQrStUv', name: 'lookup', input: {}, caller: CALLER },
        ],
        ...UNSTOPPED,
        stop_reason: 'tool_use',
        usage: ANTHROPIC_USAGE,
      },
      ...ANTHROPIC_MORE,
    ],
    errors: [
      {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'no' },
        request_id: 'req_011Cd65WVh8Zrvno3NunpJ73',
      },
    ],
    events: [
      ...ANTHROPIC_THINKS,
      ...ANTHROPIC_SEARCHES,
      { type: 'message_start', message: { ...ANTHROPIC, content: [], ...UNSTOPPED, usage: ANTHROPIC_USAGE } },
      {
        type: 'content_block_start',
        index: 1,
        content_block: {
          type: 'tool_use',
          id: 'toolu_01AbCdEfGhIjKlMnOpQrStUv',
          name: 'lookup',
          input: {},
          caller: CALLER,
        },
      },
    ],
    differs: [
      [/service_tier/, NOT_OURS],
      [/message_start.*cache_creation: missing/, DETAILS],
      [/message_delta\)\.delta\(\)\.stop_details/, 'is written as in message_start, and clients read it from there'],
      [/\(error\)\.request_id: missing/, 'is told by the header `x-request-id`'],
      [/(?:server_tool_use|web_search_tool_result)\)\.caller/, 'stands in answers of newer models, as of other calls'],
    ],
  },
  chat: {
    whole: [
      {
        id: 'chatcmpl-AIX',
        object: 'chat.completion',
        created: 1_728_980_829,
        model: 'gpt-4o-mini-2024-07-18',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: null,
              tool_calls: [{ id: call.id, type: 'function', function: { name: 'wobbler', arguments: '{}' } }],
              refusal: null,
              annotations: [],
            },
            logprobs: null,
            finish_reason: 'tool_calls',
          },
        ],
        usage: CHAT_USAGE,
        service_tier: 'default',
        system_fingerprint: 'fp_e2bde53e6e',
      },
    ],
    errors: [OPENAI_ERROR],
    events: [
      chunk({ role: 'assistant', content: '', refusal: null }),
      chunk({ content: 'The' }),
      chunk({
        role: 'assistant',
        content: null,
        tool_calls: [{ ...call, function: { name: 'wobbler', arguments: '' } }],
        refusal: null,
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"' } }] }),
      chunk({}, 'tool_calls'),
      { ...chunk({}), choices: [], usage: CHAT_USAGE },
      CITED,
      // .inline-snapshot/external/173417d55340 of https://github.com/openai/openai-python
      chunk({ role: 'assistant', content: null, refusal: '' }),
      chunk({ refusal: "I'm" }),
    ],
    differs: [
      [/service_tier|system_fingerprint/, NOT_OURS],
      [/audio_tokens|prediction_tokens/, DETAILS],
      [/annotations: missing/, 'is written where the answer cites something; clients take it as optional'],
    ],
  },
  responses: {
    whole: [WHOLE, THOUGHT, SEARCHED, response('completed', [DRAWN])],
    errors: [OPENAI_ERROR],
    events: [
      { type: 'response.created', response: response('in_progress', []) },
      { type: 'response.in_progress', response: response('in_progress', []) },
      { type: 'response.output_item.added', item: message('in_progress', []), output_index: 0 },
      { type: 'response.content_part.added', ...at, part: part('') },
      { type: 'response.output_text.delta', ...at, delta: 'OK', logprobs: [] },
      { type: 'response.output_text.done', ...at, text: 'OK', logprobs: [] },
      { type: 'response.content_part.done', ...at, part: part('OK') },
      { type: 'response.output_item.done', item: message('completed', [part('OK')]), output_index: 0 },
      { type: 'response.output_item.added', item: functionCall('in_progress', ''), output_index: 0 },
      { type: 'response.function_call_arguments.delta', ...ofCall, delta: '{"', obfuscation: 'H2d0mf8T42i5Ya' },
      { type: 'response.function_call_arguments.done', ...ofCall, arguments: ARGS },
      { type: 'response.output_item.done', item: functionCall('completed', ARGS), output_index: 0 },
      { type: 'response.completed', response: WHOLE },
      { type: 'response.output_item.added', output_index: 0, item: reasoning([]) },
      { type: 'response.reasoning_summary_part.added', ...RS, part: summaryOf('') },
      { type: 'response.reasoning_summary_text.delta', ...RS, delta: '**Calcul', obfuscation: '2ajSAGID' },
      { type: 'response.reasoning_summary_text.done', ...RS, text: 'I compute.' },
      { type: 'response.reasoning_summary_part.done', ...RS, part: summaryOf('I compute.') },
      { type: 'response.output_item.done', output_index: 0, item: reasoning([summaryOf('I compute.')]) },
      { type: 'response.completed', response: THOUGHT },
      ...SEARCHES,
      ...CITES,
      ...DRAWS,
      { type: 'response.completed', response: SEARCHED },
      { type: 'response.completed', response: response('completed', [DRAWN]) },
    ].map(numbered),
    differs: [
      [
        /completed_at/,
        'is null, because an answer is whole only when its charge is kept, and its bytes are made before',
      ],
      [
        /frequency_penalty|presence_penalty|moderation|prompt_cache_retention/,
        'repeats a setting that the request may have, and is absent in older answers',
      ],
      [/tool_usage|cache_write_tokens|obfuscation/, DETAILS],
      [/action\(search\)\.queries/, "stands in the types of the vendor's SDK beside the older `query`"],
      [
        /image_generation_call\)\.(?:background|output_format|quality|revised_prompt|size): missing/,
        'says how the vendor drew it, which we do not know of another upstream',
      ],
      [
        /output_item\.added\)\.item\(web_search_call\)\.action/,
        "stands in the types of the vendor's SDK, and tells what is searched for as soon as that is known",
      ],
      [/output_item\.added\).*encrypted_content: null/, 'is known when the thought has ended'],
      [/function_call_arguments\.done\)\.name/, "stands in the types of the vendor's SDK, whose readers ask for it"],
    ],
  },
  generate: {
    whole: [PICTURE],
    events: [PICTURE],
    errors: [],
    differs: [
      [/serviceTier|finishMessage|TokensDetails|thoughtsTokenCount|toolUse/, DETAILS],
      [
        /parts\[\]\(\)\.thought: boolean/,
        "is the mark of thoughts in the types of the vendor's SDK; the recorded ones show none",
      ],
      [/functionCall\(\)\.id/, 'stands in answers of newer models, and clients give results by it'],
    ],
  },
}
