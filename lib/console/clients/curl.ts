/** One request of each protocol with curl. */
import type { Protocol } from '../../terms/records.ts'
import type { ClientRow } from './row.ts'

const BEARER = "-H 'authorization: Bearer {key}'"

const call = (path: string, headers: string, body: object): string =>
  `curl '{base}${path}' ${headers} -H 'content-type: application/json' \\\n  -d '${JSON.stringify(body)}'`

const CALLS: Partial<Record<Protocol, string>> = {
  chat: call('/v1/chat/completions', BEARER, { model: '{model}', messages: [{ role: 'user', content: 'Hello!' }] }),
  messages: call('/v1/messages', "-H 'x-api-key: {key}' -H 'anthropic-version: 2023-06-01'", {
    model: '{model}',
    max_tokens: 1024,
    messages: [{ role: 'user', content: 'Hello!' }],
  }),
  responses: call('/v1/responses', BEARER, { model: '{model}', input: 'Hello!' }),
  generate: call('/v1beta/models/{model}:generateContent', "-H 'x-goog-api-key: {key}'", {
    contents: [{ parts: [{ text: 'Hello!' }] }],
  }),
  images: call('/v1/images/generations', BEARER, { model: '{model}', prompt: 'a lighthouse' }),
  embeddings: call('/v1/embeddings', BEARER, { model: '{model}', input: 'Hello!' }),
}

export const CURL: readonly ClientRow[] = [
  {
    id: 'curl',
    name: { zh: 'curl', en: 'curl' },
    protocols: Object.keys(CALLS) as Protocol[],
    address: '{base}/v1',
    snippets: Object.entries(CALLS).map(([protocol, text]) => ({ title: protocol, syntax: 'sh-json', text })),
    links: [],
    notes: [],
  },
]
