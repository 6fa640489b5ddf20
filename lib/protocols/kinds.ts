/**
 * The kinds of provider that people put behind the gateway, as far as no protocol is concerned: each has a row with what
 * all its protocols have in common. At which path a provider speaks a protocol is said in the protocol's own file, under
 * `upstream.kinds`. What stands here was taken from the providers' own pages and from the clients that speak to them.
 */
export interface Kind {
  /** Header that carries the key in every protocol; undefined = each protocol's own. */
  authHeader?: string
  /** Added to the query of every request. */
  query?: Readonly<Record<string, string>>
}

export const KINDS = {
  anthropic: {},
  openai: {},
  gemini: {},
  azure: { authHeader: 'api-key' },
  'azure-deployments': { authHeader: 'api-key', query: { 'api-version': '2024-10-21' } },
  cerebras: {},
  cohere: {},
  dashscope: {},
  deepinfra: {},
  deepseek: {},
  fireworks: {},
  groq: {},
  hunyuan: {},
  minimax: {},
  mistral: {},
  moonshot: {},
  nvidia: {},
  openrouter: {},
  perplexity: {},
  qianfan: {},
  siliconflow: {},
  together: {},
  volcengine: {},
  xai: {},
  zhipu: {},
} satisfies Record<string, Kind>

export type KindName = keyof typeof KINDS
