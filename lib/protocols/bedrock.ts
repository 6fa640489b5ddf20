/** Claude on Bedrock: what is different there in the messages protocol. Model and stream stand in the path, version and betas in the body. */
import type { BodyRule } from './body-rule.ts'
import type { AtKind } from './protocol.ts'

const BETAS = 'anthropic-beta'

/**
 * The betas that Bedrock knows. It refuses a request that names any other, and clients name those of the maker's own API with every
 * request. A constant header of the channel says others.
 */
const KNOWN_BETAS: ReadonlySet<string> = new Set([
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

const BODY: BodyRule = {
  leftOut: ['model', 'stream'],
  set: { anthropic_version: 'bedrock-2023-05-31' },
  listed: { header: BETAS, member: 'anthropic_beta' },
}

/** What is counted is a whole request for an answer, which has a maximum. All models whose tokens are counted take this one. */
const COUNTED: BodyRule = {
  ...BODY,
  set: { ...BODY.set, max_tokens: 8192 },
  envelope: ['{"input":{"invokeModel":{"body":"', '"}}}'],
}

const PROFILE_OR_MODEL = /^(?:arn:[^/]+:(?:inference-profile|foundation-model)\/)?(?:[a-z-]+\.)?(anthropic\.[^/]+)$/

/** Tokens are counted under the ids of models only, of which those of the provider's own inference profiles are made. */
const countedAs = (upstreamModel: string): string | null => PROFILE_OR_MODEL.exec(upstreamModel)?.[1] ?? null

export const MESSAGES_ON_BEDROCK: AtKind = {
  path: '/model/{model}/{verb}',
  modelIsStep: true,
  verbs: { document: 'invoke', stream: 'invoke-with-response-stream', streamQuery: '' },
  count: { path: '/model/{model}/count-tokens', body: COUNTED, modelName: countedAs },
  body: BODY,
  takesNoQuery: true,
  accept: 'application/json',
  values: { header: BETAS, known: KNOWN_BETAS },
}
