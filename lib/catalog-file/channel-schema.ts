/**
 * The schema of a channel in the catalogue file: the upstream's address, its keys, and how it is asked. What a channel
 * may put into headers and queries is checked strictly here, because a wrong byte there could split a request in two or
 * show a credential to somebody else.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { isCredentialName } from '../base/secrets.ts'
import * as kind from '../config/scalars.ts'
import { isLoopback } from '../config/scalars.ts'
import { type CredentialForm, SEARCH_REPORTS } from '../protocols/words/kinds.ts'
import { MAXIMUM_NAMES, THOUGHTS } from '../protocols/words/maxima.ts'
import { type Protocol, PROTOCOLS, TEXT_PROTOCOLS } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import { CACHE_MARKS, FINISH_RULES } from '../terms/records.ts'
import { cost } from './price-schema.ts'
import {
  type AwsKeys,
  type EntraCredential,
  credentialFormOf,
  credentialText,
  KIND_NAMES,
  type KindName,
  type UpstreamCredential,
  upstreamCredential,
} from './upstreams.ts'

// Credentials.

const upstreamKey = kind.secret('an upstream key without spaces', /^[!-~]{1,4096}$/)

const GOOGLE_TOKENS = 'https://oauth2.googleapis.com/token'
const LONGEST_EMAIL = 320
const FILE_OF_ACCOUNT =
  'the JSON key file of a service account, with type, client_email, an RSA private_key, and a token_uri that is https'

/** The file as Google gives it. Of it only what tokens are got with is kept. */
const serviceAccount = kind.scalar(FILE_OF_ACCOUNT, { type: ['string', 'object'] }, readServiceAccount, true)

function readServiceAccount(value: unknown): UpstreamCredential | undefined {
  const file = typeof value === 'string' ? parsed(value) : value
  if (typeof file !== 'object' || file === null) return undefined
  const {
    type,
    client_email: email,
    private_key: privateKey,
    token_uri: tokenUri = GOOGLE_TOKENS,
  } = file as AccountFile
  const isWhole =
    type === 'service_account' &&
    typeof email === 'string' &&
    /^[!-~]+@[!-~]+$/.test(email) &&
    email.length <= LONGEST_EMAIL &&
    isRsaKey(privateKey) &&
    isTokenAddress(tokenUri)
  return isWhole ? { form: 'service_account', email, privateKey, tokenUri } : undefined
}

type AccountFile = Record<'type' | 'client_email' | 'private_key' | 'token_uri', unknown>

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isRsaKey(pem: unknown): pem is string {
  try {
    return typeof pem === 'string' && createPrivateKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}

/** The assertion that is sent there is worth a token: over plain http it may only go to this machine. */
function isTokenAddress(text: unknown): text is string {
  const url = typeof text === 'string' ? URL.parse(text) : null
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

const aws = z.strictObject({
  access_key_id: kind.secret('an access key id', /^\w{16,128}$/).meta({ description: 'Id of the access key.' }),
  secret_access_key: kind
    .secret('a secret access key', /^[!-~]{16,256}$/)
    .meta({ description: 'The secret of the access key.' }),
  session_token: kind
    .secret('a session token', /^[!-~]{1,4096}$/)
    .optional()
    .meta({ description: 'The token of temporary keys.' }),
  region: kind
    .secret('a region like us-east-1', /^[a-z]{2,}(?:-[a-z]+)+-\d{1,2}$/)
    .meta({ description: 'Region for which requests are signed.' }),
})

const AUTHORITY = 'https://login.microsoftonline.com'

const entra = z.strictObject({
  tenant: kind
    .secret('a tenant, as a GUID or a domain', /^[\w.-]{1,200}$/)
    .optional()
    .meta({ description: 'Tenant of the application. Default, of a workload identity: AZURE_TENANT_ID.' }),
  client_id: kind
    .secret('the id of a client', /^[\w-]{1,100}$/)
    .optional()
    .meta({
      description:
        'Id of the application. Default, of a workload identity: AZURE_CLIENT_ID; of a managed identity: the one of the system.',
    }),
  client_secret: kind
    .secret('a client secret', /^[!-~]{1,512}$/)
    .optional()
    .meta({ description: 'Secret of the application.' }),
  workload_identity: kind.flag.prefault(false).meta({
    description:
      'In the place of a secret: the token in the file that AZURE_FEDERATED_TOKEN_FILE names, which is read each time.',
  }),
  managed_identity: kind.flag.prefault(false).meta({
    description: 'In the place of a secret: the identity of the machine, by its metadata address.',
  }),
  scope: kind
    .secret('a scope like https://ai.azure.com/.default', /^[a-z]+:\/\/[\w.-]+(?:\/[\w.-]+)*\/\.default$/)
    .optional()
    .meta({
      description:
        'What tokens are for. Default: `https://ai.azure.com/.default` at `*.services.ai.azure.com`, else `https://cognitiveservices.azure.com/.default`.',
    }),
  authority: kind
    .scalar('an https address', { type: 'string' }, value => (isTokenAddress(value) ? value : undefined), true)
    .prefault(AUTHORITY)
    .meta({ description: 'Where tokens are got; other clouds have other addresses.' }),
})

/** The members of a channel, and of each of its keys, that hold a credential. */
export const credentials = {
  key: upstreamKey.optional().meta({
    description:
      'Credential at the upstream, best given by a variable. It leaves the process only in requests to this channel.',
  }),
  service_account: serviceAccount.optional().meta({
    description:
      'In the place of `key` at Vertex AI: the JSON key file of a service account, best by a variable that names the file. It never leaves the process: requests carry tokens that are got with it.',
  }),
  aws: aws
    .optional()
    .meta({ description: 'In the place of `key` at Amazon Web Services: keys that requests are signed with.' }),
  entra: entra.optional().meta({
    description:
      'In the place of `key` at Azure: an application of Microsoft Entra ID, with a secret, a workload identity or a managed identity.',
  }),
}

export const CREDENTIAL_NAMES = Object.keys(credentials) as (keyof typeof credentials)[]

interface Given {
  key?: string | undefined
  service_account?: UpstreamCredential | undefined
  aws?: z.output<typeof aws> | undefined
  entra?: z.output<typeof entra> | undefined
}

interface Form extends Given {
  kind?: KindName | undefined
  auth?: unknown
  keys?: readonly Given[] | undefined
}

/** What is wrong with the credentials of a channel, as the text that follows "expected"; null = nothing. */
export function keyProblem(form: Form): string | null {
  const { keys } = form
  const wanted = credentialFormOf(form.kind ?? null) ?? 'key'
  const one = wanted === 'key' ? 'an upstream key' : `${wanted} (the kind ${form.kind} takes no plain key)`
  const given = [form, ...(keys ?? [])]
  const other = CREDENTIAL_NAMES.find(name => name !== wanted && given.some(where => where[name] !== undefined))
  if (other !== undefined) return `${one}, and no ${other}`
  if (form[wanted] === undefined && keys === undefined) return `${one}, or a list of them under keys`
  if (form[wanted] !== undefined && keys !== undefined) return `either ${wanted} or keys`
  const gap = keys?.findIndex(row => row[wanted] === undefined) ?? -1
  if (gap >= 0) return `${one} in keys[${gap}]`
  if (wanted !== 'key' && form.auth !== undefined) return `${one}, and no auth`
  if (given.some(({ entra: of }) => of !== undefined && !isWhole(of))) return WHOLE_ENTRA
  const texts = keys?.map(credentialTextOf) ?? []
  return new Set(texts).size === texts.length ? null : 'keys that differ from each other'
}

const WHOLE_ENTRA =
  'entra with tenant, client_id and client_secret, or with workload_identity: true, or with managed_identity: true and no tenant'

function isWhole({
  tenant,
  client_id,
  client_secret: secret,
  workload_identity,
  managed_identity,
}: z.output<typeof entra>) {
  const ways = [secret !== undefined, workload_identity, managed_identity].filter(Boolean).length
  if (ways !== 1 || (managed_identity && tenant !== undefined)) return false
  return secret === undefined || (tenant !== undefined && client_id !== undefined)
}

/** AWS has the region in the names of its hosts, each of which refuses what is signed for another one. */
const AWS_HOST = /\.([a-z]{2,}(?:-[a-z]+)+-\d{1,2})\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$/

/** What is wrong with the address for the regions of the credentials, as the text that follows "expected"; null = nothing. */
export function regionProblem({
  base_url: address,
  aws: keys,
  keys: list = [],
}: Form & { base_url: string }): string | null {
  const region = AWS_HOST.exec(new URL(address).hostname)?.[1]
  const signed = [keys, ...list.map(one => one.aws)].flatMap(one => one?.region ?? [])
  const other = signed.find(one => one !== region)
  return region === undefined || other === undefined ? null : `a host in ${other}, the region of the credential`
}

export function credentialTextOf({ key, service_account: account, aws: keys, entra: application }: Given): string {
  if (account !== undefined) return credentialText(account)
  if (application !== undefined) return credentialText(entraOf(application))
  if (keys === undefined) return key ?? ''
  const { access_key_id, secret_access_key, session_token = null, region } = keys
  const credential: AwsKeys = {
    form: 'aws',
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    sessionToken: session_token,
    region,
  }
  return credentialText(credential)
}

const entraOf = ({ tenant, client_id, client_secret, scope, ...rest }: z.output<typeof entra>): EntraCredential => ({
  form: 'entra',
  by: client_secret !== undefined ? 'secret' : rest.workload_identity ? 'workload' : 'machine',
  tenant: tenant ?? '',
  clientId: client_id ?? '',
  secret: client_secret ?? '',
  scope: scope ?? null,
  authority: rest.authority as string,
})

/** A stored credential as people write it. */
export function writtenCredential(name: KindName | null, text: string): Record<string, unknown> {
  const credential = upstreamCredential(name, text)
  if (credential === null) return { key: text }
  const { form } = credential
  return { [form]: WRITTEN[form](credential as never) }
}

const WRITTEN: { [F in CredentialForm]: (credential: Extract<UpstreamCredential, { form: F }>) => object } = {
  service_account: ({ email, privateKey, tokenUri }) => ({
    type: 'service_account',
    client_email: email,
    private_key: privateKey,
    token_uri: tokenUri,
  }),
  aws: ({ accessKeyId, secretAccessKey, sessionToken, region }) => ({
    access_key_id: accessKeyId,
    secret_access_key: secretAccessKey,
    ...(sessionToken === null ? {} : { session_token: sessionToken }),
    region,
  }),
  entra: ({ by, tenant, clientId, secret, scope, authority }) => ({
    ...(tenant === '' ? {} : { tenant }),
    ...(clientId === '' ? {} : { client_id: clientId }),
    ...(by === 'secret' ? { client_secret: secret } : {}),
    ...(by === 'workload' ? { workload_identity: true } : {}),
    ...(by === 'machine' ? { managed_identity: true } : {}),
    ...(scope === null ? {} : { scope }),
    authority,
  }),
}

/** Headers that carry the client's own key, which no upstream may see. */
const CREDENTIALS = ['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'x-gamma-api-key', 'x-goog-api-key']
const KEPT_BACK = new Set([...kind.RESERVED, ...CREDENTIALS])

const HEADER_VALUE = /^=[\t\x20-\x7e]{0,4096}$/

const headers = kind.scalar(
  'a map of header names to header names or "=text"',
  { type: 'object', additionalProperties: { type: 'string' } },
  value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const entries = Object.entries(value).map(([from, to]) => [from.toLowerCase(), to] as const)
    return entries.every(([from, to]) => headerFits(from, to))
      ? Object.fromEntries(entries as [string, string][])
      : undefined
  },
  true,
)

function headerFits(from: string, to: unknown): boolean {
  if (!kind.isHeaderName(from) || typeof to !== 'string' || kind.RESERVED.includes(from)) return false
  if (to.startsWith('=')) return HEADER_VALUE.test(to)
  return kind.isHeaderName(to) && !kind.RESERVED.includes(to.toLowerCase()) && !CREDENTIALS.includes(from)
}

const passedHeader = kind.scalar(
  'a header name that is neither a credential nor about the connection',
  { type: 'string', not: { enum: [...KEPT_BACK] } },
  value => {
    const name = typeof value === 'string' ? value.toLowerCase() : ''
    return kind.isHeaderName(name) && !KEPT_BACK.has(name) ? name : undefined
  },
)

const routedModels = kind.scalar(
  'a list of model names, or a map of model names to the names upstream',
  {
    anyOf: [
      { type: 'array', items: { type: 'string' } },
      { type: 'object', additionalProperties: { type: 'string' } },
    ],
  },
  value => {
    if (typeof value !== 'object' || value === null) return undefined
    const entries = Array.isArray(value) ? value.map(name => [name, name]) : Object.entries(value)
    const read = entries.map(([name, upstream]) => [kind.asModelName(name), kind.asModelName(upstream)])
    return read.every(([a, b]) => a !== undefined && b !== undefined)
      ? (Object.fromEntries(read) as Record<string, string>)
      : undefined
  },
)

const proxyAddress = kind.scalar(
  'a proxy as http://, https:// or socks5:// URL; a % in user or password as %25',
  { type: 'string', pattern: '^(https?|socks5)://' },
  value => {
    const url = typeof value === 'string' ? URL.parse(value) : null
    if (url === null || !/^(https?|socks5):$/.test(url.protocol) || url.hostname === '') return undefined
    return canBeSent(url.username, url) && canBeSent(url.password, url) ? url.href : undefined
  },
  true,
)

/** SOCKS5 sends the length of the user name and of the password in one byte. */
const MOST_SOCKS_BYTES = 255

function canBeSent(credential: string, { protocol }: URL): boolean {
  try {
    const bytes = Buffer.byteLength(decodeURIComponent(credential))
    return protocol !== 'socks5:' || bytes <= MOST_SOCKS_BYTES
  } catch {
    return false // a % without two hexadecimal digits
  }
}

export const CERTIFICATES = 'PEM certificates, or a file of them'

/**
 * Returns the certificates of a PEM text, or of the file that `value` names, as one PEM text; null when there is none
 * or one cannot be parsed. `readFile` gives the text of a file.
 */
export function readCertificates(value: string, readFile: (file: string) => string): string | null {
  try {
    const pem = value.includes('-----BEGIN') ? value : readFile(value)
    const all = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
    for (const one of all) new X509Certificate(one)
    return all.length === 0 ? null : `${all.join('\n')}\n`
  } catch {
    return null
  }
}

const PATH = /^\/(?:[!$&-;=@-Z_a-z~]|%[0-9A-Fa-f]{2}|\{model\}|\{verb\}){0,1000}$/

const upstreamPath = (protocol: Protocol) => {
  const named = protocolRow(protocol).upstream.path.includes('{verb}')
  return kind
    .scalar(
      `a path that begins with / and has no query${named ? ', with {model} and {verb} in it' : ', perhaps with {model} in it'}`,
      { type: 'string', pattern: '^/[^?#]*$' },
      value => {
        const path = kind.matched(PATH, value)?.[0]
        if (path === undefined || path.includes('{verb}') !== named) return undefined
        return named && !path.includes('{model}') ? undefined : path
      },
    )
    .optional()
    .meta({ description: `Path of the ${protocol} protocol at this upstream, in place of the usual one.` })
}

const paths = z.strictObject(
  Object.fromEntries(PROTOCOLS.map(protocol => [protocol, upstreamPath(protocol)])) as {
    [P in Protocol]: ReturnType<typeof upstreamPath>
  },
)

const QUERY_NAME = /^[\w.~-]{1,100}$/
const QUERY_VALUE = /^[^\p{C}]{1,500}$/u

/** No query parameter may be a credential, because URLs end up in other people's logs. */
const query = kind.scalar(
  'a map of query names to texts, none of them a credential (that is what `key` and `auth` are for)',
  { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  value => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const entries = Object.entries(value).map(([name, text]) => [name, String(text)] as const)
    const fit = entries.every(
      ([name, text]) => QUERY_NAME.test(name) && !isCredentialName(name) && QUERY_VALUE.test(text),
    )
    return fit ? (Object.fromEntries(entries) as Record<string, string>) : undefined
  },
  true,
)

const maxConcurrency = (where: string) =>
  kind
    .whole(0)
    .prefault(0)
    .meta({ description: `Most requests open at once ${where}, per process; 0 = unlimited.` })

const channelKey = z.strictObject({
  ...credentials,
  max_concurrency: maxConcurrency('with this key'),
})

/** `false` is an empty list. */
const translate = kind.scalar(
  {
    zh: `true、false或协议列表（${TEXT_PROTOCOLS.join('、')}）`,
    en: `true, false, or a list of ${TEXT_PROTOCOLS.join(', ')}`,
  },
  { anyOf: [{ type: 'boolean' }, { type: 'array', items: { type: 'string', enum: [...TEXT_PROTOCOLS] } }] },
  (value): true | Protocol[] | undefined => {
    const all = kind.flag.safeParse(value)
    if (all.success) return all.data || []
    if (!Array.isArray(value) || !value.every(name => TEXT_PROTOCOLS.includes(name as Protocol))) return undefined
    return [...new Set(value as Protocol[])]
  },
)

const budget = z.strictObject({
  amount: kind.cny.optional().meta({
    description:
      'CNY that were there at `from`; what the channel has cost since is taken off. Default: the upstream is asked, where its kind has a call for it.',
  }),
  from: kind.time.optional().meta({
    description: 'ISO time since which costs count, in whole hours. Default: all that the channel has cost.',
  }),
  warn_below: kind.cny.optional().meta({
    description:
      'Below this much the alarm goes off: in CNY, or in the currency that the upstream tells. Default: there is none.',
  }),
})

export const channel = z.strictObject({
  name: kind.name.meta({ description: 'Name of the channel, for operators.' }),
  base_url: kind.webAddress.meta({
    description:
      'Address of the upstream. The path of the protocol is appended; a version at the end (`/v1`) is not repeated.',
  }),
  kind: kind
    .oneOf(...KIND_NAMES)
    .optional()
    .meta({
      description:
        'Kind of provider, which sets paths and headers: see the table in docs/upstreams.md. Default: those of the protocols.',
    }),
  paths: paths
    .prefault({})
    .meta({ description: 'Paths of this upstream that differ from those of its kind, or of the protocols.' }),
  query: query.prefault({}).meta({ description: 'Added to the query of every request to this upstream.' }),
  protocols: z
    .array(kind.oneOf(...PROTOCOLS))
    .min(1)
    .meta({ description: 'Protocols that the upstream speaks.' }),
  ...credentials,
  keys: z
    .array(channelKey)
    .min(1)
    .optional()
    .meta({ description: 'Several credentials in place of one, each with its own circuit breaker and limit.' }),
  auth: z
    .strictObject({
      header: kind.headerName.meta({
        description: 'Header that carries the key: `authorization` as `Bearer KEY`, any other header as the bare key.',
      }),
    })
    .optional()
    .meta({
      description:
        'How the key is sent. Default: as the kind says; without a kind `x-api-key` on messages, `x-gamma-api-key` on generate, else `authorization: Bearer`.',
    }),
  headers: headers.prefault({}).meta({
    description:
      'Client headers to send under other names: `client-name: upstream-name`. A value `=text` sets a constant instead, whatever clients send.',
  }),
  pass_headers: z
    .array(passedHeader)
    .prefault([])
    .meta({ description: 'Further client headers to send upstream unchanged.' }),
  groups: z.array(kind.name).min(1).meta({ description: 'Groups that may use the channel.' }),
  models: routedModels.meta({
    description: 'Models the channel serves: a list, or a map `model: name at the upstream`.',
  }),
  weight: kind.whole(0, 1_000_000).prefault(1).meta({
    description: 'Share of requests among channels of the same priority; 0 = only when no other of them can be asked.',
  }),
  priority: kind
    .whole(-1_000_000, 1_000_000)
    .prefault(0)
    .meta({ description: 'Channels of higher priority are tried first.' }),
  max_concurrency: maxConcurrency('at this channel'),
  proxy: proxyAddress.optional().meta({
    description:
      'Proxy to the upstream: `http://`, `https://` or `socks5://`, with user and password if need be. Default: none.',
  }),
  ca: kind
    .plainText(CERTIFICATES)
    .optional()
    .meta({ description: 'PEM certificates, or a file of them, that this channel trusts beside those of the system.' }),
  http2: kind.flag.prefault(false).meta({ description: 'Offer HTTP/2 to an `https` upstream.' }),
  private: kind.flag.prefault(false).meta({
    description: 'Allow a link-local or reserved address, where clouds offer the credentials of the machine.',
  }),
  cost: cost.optional().meta({
    description:
      'What the upstream charges for a request: a factor of the model’s price, or a map of models to prices. Only administrators see it. Default: not known.',
  }),
  budget: budget.optional().meta({
    description:
      'Money that the operator has at the upstream, with an alarm. Default: what the upstream itself tells, where its kind has a call for it, without an alarm. See docs/upstreams.md.',
  }),
  translate: translate.prefault(true).meta({
    description:
      'Protocols of clients that this channel serves by translation, when the upstream does not speak them: `true` for all protocols of text, a list, or `false`. See docs/translation.md.',
  }),
  cache_marks: kind
    .oneOf(...CACHE_MARKS)
    .prefault('off')
    .meta({
      description:
        '`auto`: translated requests ask a messages upstream to cache the prompt although the client does not, which is charged as cache writes. Default: off.',
    }),
  finish: kind
    .oneOf(...FINISH_RULES)
    .prefault('strict')
    .meta({
      description:
        '`lenient`: a translated stream of text that ends without saying why is whole. Default: it was cut, and the client is told an error.',
    }),
  reads_max: z
    .array(kind.oneOf(...MAXIMUM_NAMES))
    .prefault([])
    .meta({
      description:
        'Names of the maximum of output that the upstream reads beside those of its kind, or beside its protocol’s own. A maximum under a name that it does not read bounds nothing: see docs/upstreams.md.',
    }),
  thoughts: kind
    .oneOf(...THOUGHTS)
    .optional()
    .meta({
      description:
        'Whether the maximum of output bounds the model’s thoughts too (`within`) or not (`beside`). Default: as the kind says, else `beside`.',
    }),
  searches: kind
    .oneOf(...SEARCH_REPORTS)
    .optional()
    .meta({
      description:
        'Whether answers of the upstream tell of its searches (`reported`) or not (`unreported`). Where they do not, and the request says that a search has to be made, one is charged unseen. Default: as the kind says, else `reported`.',
    }),
  status: kind.oneOf('enabled', 'disabled').prefault('enabled').meta({ description: 'Whether the channel is used.' }),
})
