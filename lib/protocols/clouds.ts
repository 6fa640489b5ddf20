/**
 * How clouds speak: model and kind of answer stand in the path there, and of the messages protocol version and betas in the body.
 * They refuse a request that names a beta that they do not know, and clients name those of the maker's own API with every request.
 * A constant header of the channel says others.
 */
import type { AtKind } from './protocol.ts'
import type { BodyRule } from './requests/edits.ts'

const BETAS = 'anthropic-beta'
const LISTED: BodyRule['listed'] = { header: BETAS, member: 'anthropic_beta' }

const BEDROCK_BETAS: ReadonlySet<string> = new Set([
  'compact-2026-01-12',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-tool-changes-2026-07-01',
  'output-128k-2025-02-19',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
])

const VERTEX_BETAS: ReadonlySet<string> = new Set([
  'compact-2026-01-12',
  'compact-2026-09-04',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'interleaved-thinking-2025-05-14',
  'per-turn-control-2026-07-01',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'tool-search-tool-2025-10-19',
  'web-search-2025-03-05',
])

const BEDROCK: BodyRule = {
  leftOut: ['model', 'stream'],
  set: { anthropic_version: 'bedrock-2023-05-31' },
  listed: LISTED,
}

/** Bedrock counts a whole request for an answer, which has a maximum. All models whose tokens are counted take this one. */
const BEDROCK_COUNT: BodyRule = {
  ...BEDROCK,
  set: { ...BEDROCK.set, max_tokens: 8192 },
  envelope: ['{"input":{"invokeModel":{"body":"', '"}}}'],
}

const PROFILE_OR_MODEL = /^(?:arn:[^/]+:(?:inference-profile|foundation-model)\/)?(?:[a-z-]+\.)?(anthropic\.[^/]+)$/

export const MESSAGES_ON_BEDROCK: AtKind = {
  path: '/model/{model}/{verb}',
  modelIsStep: true,
  verbs: { document: 'invoke', stream: 'invoke-with-response-stream', streamQuery: '' },
  count: {
    path: '/model/{model}/count-tokens',
    body: BEDROCK_COUNT,
    // only ids of models, of which those of the provider's own inference profiles are made
    modelName: upstreamModel => PROFILE_OR_MODEL.exec(upstreamModel)?.[1] ?? null,
  },
  body: BEDROCK,
  takesNoQuery: true,
  accept: 'application/json',
  values: { header: BETAS, known: BEDROCK_BETAS },
  answers: 'claude-on-bedrock',
}

/** The key of its own is a bearer token, as OpenAI's is. */
export const CONVERSE_ON_BEDROCK: AtKind = {
  path: '/model/{model}/{verb}',
  modelIsStep: true,
  takesNoQuery: true,
  accept: 'application/json',
}

/** Hosts of Bedrock that speak as the makers of the models do. */
export const openAiOnAws = (path: string): AtKind => ({ path, answers: 'openai-on-aws' })
export const MESSAGES_ON_AWS: AtKind = {
  path: '/anthropic/v1/messages',
  authHeader: 'authorization',
  answers: 'messages-on-aws',
}

/** A request whose tokens are counted names its model in the body. */
const VERTEX_COUNT: BodyRule = { leftOut: [], set: { anthropic_version: 'vertex-2023-10-16' }, listed: null }

export const MESSAGES_ON_VERTEX: AtKind = {
  path: '/publishers/anthropic/models/{model}:{verb}',
  verbs: { document: 'rawPredict', stream: 'streamRawPredict', streamQuery: '' },
  count: { path: '/publishers/anthropic/models/count-tokens:rawPredict', body: VERTEX_COUNT },
  body: { ...VERTEX_COUNT, leftOut: ['model'], listed: LISTED },
  takesNoQuery: true,
  values: { header: BETAS, known: VERTEX_BETAS },
  withholds: 'vertex_event',
}
