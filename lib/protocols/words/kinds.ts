/**
 * The kinds of provider that people put behind the gateway, as far as no protocol is concerned: each has a row with what
 * all its protocols have in common. At which path a provider speaks a protocol is said in the protocol's own file, under
 * `upstream.kinds`. What stands here was taken from the providers' own pages and from the clients that speak to them.
 */
import { BALANCE_CALLS, type BalanceCall, type MoneyLeft } from './balances.ts'

export type { BalanceCall, MoneyLeft }

export interface ProviderKind {
  /** Header that carries the key in every protocol; undefined = each protocol's own. */
  authHeader?: string
  /** The credential of its channels in the place of a plain key; undefined = a plain key. */
  credential?: CredentialForm
  /** The addresses that its channels may have; undefined = any. */
  address?: AddressForm
  /** The kind whose protocols it speaks: it differs from that one by what stands in its own row alone. */
  like?: string
  /** The name of the service for which AWS is shown signatures. */
  service?: string
  /** What of its texts is neither among the answers that the meters are tested with nor among the examples of its documentation. */
  unrecorded?: 'answers' | 'streams'
  /** Answers on chat do not tell of searches. */
  searches?: 'unreported'
  /** The call that tells how much money is left; undefined = it has none. */
  balance?: BalanceCall
  /** Added to the query of every request. */
  query?: Readonly<Record<string, string>>
}

/** A credential of which requests are not sent the text itself, but what is made with it. */
const CREDENTIAL_FORMS = ['service_account', 'aws', 'entra'] as const
export type CredentialForm = (typeof CREDENTIAL_FORMS)[number]

/**
 * Forms of answers that are none of a protocol, and are made into those of one before anybody reads them. `messages-on-aws` and
 * `openai-on-aws`: only what AWS refuses before a model is asked has a form of its own. `entra`: a refused token has a cause in it.
 */
export type AnswersOf = 'claude-on-bedrock' | 'converse' | 'messages-on-aws' | 'openai-on-aws' | 'entra'

export interface AddressForm {
  fits(url: URL): boolean
  /** The description of such an address in problems. */
  expected: string
}

/** Project and location stand in the path. Google's own hosts serve the location that they are named after. */
const vertexAddress: AddressForm = {
  fits({ hostname, pathname }) {
    const location = /^\/v1(?:beta1)?\/projects\/[\w.:-]+\/locations\/([a-z0-9-]+)$/.exec(pathname)?.[1]
    if (location === undefined) return false
    return !/(^|[.-])aiplatform\..*googleapis\.com$/.test(hostname) || hostname === vertexHost(location)
  },
  expected: 'an address like https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION',
}

function vertexHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com'
  const isWide = location === 'us' || location === 'eu'
  return isWide ? `aiplatform.${location}.rep.googleapis.com` : `${location}-aiplatform.googleapis.com`
}

export const KINDS = {
  anthropic: {},
  openai: {},
  gemini: {},
  azure: { authHeader: 'api-key' },
  'azure-deployments': { authHeader: 'api-key', query: { 'api-version': '2024-10-21' } },
  'azure-entra': { like: 'azure', credential: 'entra' },
  'azure-deployments-entra': { like: 'azure-deployments', credential: 'entra', query: { 'api-version': '2024-10-21' } },
  bedrock: { credential: 'aws' },
  'bedrock-api-key': {},
  'bedrock-mantle': { credential: 'aws', service: 'bedrock-mantle', unrecorded: 'streams' },
  'bedrock-mantle-api-key': { like: 'bedrock-mantle' },
  cerebras: {},
  cohere: { unrecorded: 'answers' },
  dashscope: {},
  deepinfra: {},
  deepseek: { balance: BALANCE_CALLS.deepseek },
  fireworks: { unrecorded: 'streams' },
  groq: {},
  hunyuan: { unrecorded: 'streams', searches: 'unreported' },
  minimax: { searches: 'unreported' },
  mistral: {},
  moonshot: { searches: 'unreported', balance: BALANCE_CALLS.moonshot },
  nvidia: {},
  openrouter: { balance: BALANCE_CALLS.openrouter },
  perplexity: {},
  qianfan: {},
  siliconflow: { balance: BALANCE_CALLS.siliconflow },
  together: {},
  vertex: { credential: 'service_account', address: vertexAddress },
  volcengine: {},
  xai: {},
  zhipu: {},
} satisfies Record<string, ProviderKind>

export const SEARCH_REPORTS = ['reported', 'unreported'] as const
export type SearchReports = (typeof SEARCH_REPORTS)[number]

export type KindName = keyof typeof KINDS

/** The kind whose rows in the tables of protocols, maxima and searches are its own. */
export const kindLike = (name: KindName): KindName => ((KINDS[name] as ProviderKind).like as KindName) ?? name
