/** Claude on Vertex AI: what is different there in the messages protocol. Model and kind of answer stand in the path, version and betas in the body. */
import type { BodyRule } from './body-rule.ts'
import type { AtKind } from './protocol.ts'

const BETAS = 'anthropic-beta'

/**
 * The betas that Vertex AI knows. It refuses a request that names any other, and clients name those of the maker's own API with
 * every request. A constant header of the channel says others.
 */
const KNOWN_BETAS: ReadonlySet<string> = new Set([
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

/** Of a request whose tokens are counted, which names its model in the body. */
const COUNTED: BodyRule = { leftOut: [], set: { anthropic_version: 'vertex-2023-10-16' }, listed: null }

export const MESSAGES_ON_VERTEX: AtKind = {
  path: '/publishers/anthropic/models/{model}:{verb}',
  verbs: { document: 'rawPredict', stream: 'streamRawPredict', streamQuery: '' },
  count: { path: '/publishers/anthropic/models/count-tokens:rawPredict', body: COUNTED },
  body: { ...COUNTED, leftOut: ['model'], listed: { header: BETAS, member: 'anthropic_beta' } },
  takesNoQuery: true,
  values: { header: BETAS, known: KNOWN_BETAS },
  withholds: 'vertex_event',
}
