/**
 * How an upstream of a known kind wants to be asked: each kind of provider with all that its own row and the rows of the
 * protocols say of it. A channel's own settings win over those of its kind. Paths begin at the provider's host.
 */
import {
  type AddressForm,
  type AnswersOf,
  type BalanceCall,
  type CredentialForm,
  KINDS,
  kindLike,
  type ProviderKind,
  type KindName,
} from '../protocols/words/kinds.ts'
import { type AtKind, type OtherForm, type ProviderHeaders, SAME_HEADERS } from '../protocols/protocol.ts'
import { FORMS, type Protocol, PROTOCOLS } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Channel } from '../terms/records.ts'

export { kindLike }
export type { AnswersOf, BalanceCall, KindName, OtherForm }

export interface Provider {
  /** The protocols that it speaks, and the forms of them. */
  paths: Partial<Record<Protocol, string>>
  /** Headers that carry the key, where they are not the usual ones of the protocol at a provider. */
  auth: Partial<Record<Protocol, string>>
  query: Readonly<Record<string, string>>
  /** Whether its answers tell of searches; absent = they do. */
  searches?: 'unreported'
  /** Protocols of which more is different than the path. */
  special: Partial<Readonly<Record<Protocol, AtKind>>>
  /** What its channels have in the place of a plain key; null = a plain key. */
  credential: CredentialForm | null
  /** The name of the service for which AWS is shown signatures. */
  service: string
  /** The addresses that its channels may have; null = any. */
  address: AddressForm | null
}

export const KIND_NAMES = Object.keys(KINDS) as KindName[]

export const PROVIDERS = Object.fromEntries(KIND_NAMES.map(name => [name, provider(name)])) as Record<
  KindName,
  Provider
>

function provider(name: KindName): Provider {
  const { authHeader, query = {}, credential, address, searches, service = 'bedrock' }: ProviderKind = KINDS[name]
  const paths: Provider['paths'] = {}
  const auth: Provider['auth'] = {}
  const special: Partial<Record<Protocol, AtKind>> = {}
  for (const protocol of FORMS) {
    const at = protocolRow(protocol).upstream.kinds[kindLike(name)]
    if (at === undefined) continue
    paths[protocol] = typeof at === 'string' ? at : at.path
    if (typeof at === 'object') special[protocol] = at
    const header = typeof at === 'string' ? authHeader : at.authHeader
    if (header !== undefined) auth[protocol] = header
  }
  return {
    paths,
    auth,
    query,
    ...(searches === undefined ? {} : { searches }),
    special,
    credential: credential ?? null,
    service,
    address: address ?? null,
  }
}

export const providerOf = (name: KindName | null): Provider | null => (name === null ? null : PROVIDERS[name])

/** The forms of answers of a kind, by the protocol in which it is asked. */
export const answersOf = (name: KindName | null): Partial<Record<Protocol, AnswersOf>> =>
  Object.fromEntries(
    FORMS.flatMap(form => {
      const provider = providerOf(name)
      const ofToken = provider?.credential === 'entra' ? 'entra' : undefined
      const answers = provider?.special[form]?.answers ?? protocolRow(form).upstream.answers ?? ofToken
      return answers === undefined ? [] : [[form, answers]]
    }),
  )

/** What the kind of a channel says about headers; without a kind nothing. */
export function providerHeaders(name: KindName | null, protocol: Protocol): ProviderHeaders {
  const of = providerOf(name)
  if (of === null) return SAME_HEADERS
  const usual = protocolRow(protocol).upstream.atProvider
  return { ...usual, authHeader: of.auth[protocol] ?? usual.authHeader }
}

/** A service account of Google Cloud. */
export interface ServiceAccount {
  form: 'service_account'
  email: string
  /** PEM. */
  privateKey: string
  /** Where tokens are got. */
  tokenUri: string
}

/** Keys of Amazon Web Services. */
export interface AwsKeys {
  form: 'aws'
  accessKeyId: string
  secretAccessKey: string
  /** Session token of temporary keys; null = the keys are not temporary. */
  sessionToken: string | null
  region: string
}

/** An application of Microsoft Entra ID. */
export interface EntraCredential {
  form: 'entra'
  /** How it proves itself: by a secret, by the file of a workload identity, or by the machine that it runs on. */
  by: 'secret' | 'workload' | 'machine'
  /** Tenant and client; empty = as the environment says, or the machine's own. */
  tenant: string
  clientId: string
  /** Empty = there is none. */
  secret: string
  /** What tokens are for; null = as the upstream's host wants it. */
  scope: string | null
  /** Where tokens are got. */
  authority: string
}

/**
 * Credentials of channels that are more than a key: requests do not carry them, but are signed with them or carry a token that was got
 * with them. Everywhere a credential is one text, as a plain key is, so that it is stored, encrypted and hidden like one; here it is
 * written and read.
 */
export type UpstreamCredential = ServiceAccount | AwsKeys | EntraCredential

export const credentialFormOf = (kind: KindName | null): CredentialForm | null => providerOf(kind)?.credential ?? null

export const credentialText = (credential: UpstreamCredential): string => JSON.stringify(credential)

const UNREADABLE: Readonly<Record<CredentialForm, UpstreamCredential>> = {
  service_account: { form: 'service_account', email: '', privateKey: '', tokenUri: '' },
  aws: { form: 'aws', accessKeyId: '', secretAccessKey: '', sessionToken: null, region: '' },
  entra: {
    form: 'entra',
    by: 'secret',
    tenant: '-',
    clientId: '-',
    secret: '',
    scope: null,
    authority: 'https://localhost',
  },
}

/**
 * The credential that a key of a channel of this kind is; null = it is a plain key. A text that is no credential of the kind's form
 * (it was sealed under another secret) becomes one with which nothing can be signed, so that the text is never sent.
 */
export function upstreamCredential(kind: KindName | null, text: string): UpstreamCredential | null {
  const form = credentialFormOf(kind)
  if (form === null) return null
  try {
    const credential = JSON.parse(text) as UpstreamCredential
    return credential.form === form ? credential : UNREADABLE[form]
  } catch {
    return UNREADABLE[form]
  }
}

/** What of a credential nobody may see. */
export function secretsIn(credential: UpstreamCredential): string[] {
  if (credential.form === 'service_account') return [bare(credential.privateKey)]
  if (credential.form === 'entra') return [credential.secret]
  const { accessKeyId, secretAccessKey, sessionToken } = credential
  return [accessKeyId, secretAccessKey, sessionToken ?? '']
}

/** A PEM without its first and last line, which are no secret, and without line breaks, so that it is found however it is broken. */
const bare = (pem: string): string => pem.replace(/-----[^-]*-----|\s/g, '')

type Asked = Pick<Channel, 'baseUrl' | 'kind' | 'paths' | 'query'>

/** Protocols of a channel that its kind does not speak and for which it names no path. */
export function unspoken({ kind: name, paths, protocols }: Asked & Pick<Channel, 'protocols'>): Protocol[] {
  const known = { ...providerOf(name)?.paths, ...paths }
  return name === null ? [] : protocols.filter(protocol => known[protocol] === undefined)
}

/** Whether a channel can be asked in a form: its kind or the channel itself names a path, or it has no kind. */
export function speaksForm({ kind: name, paths }: Asked, form: Protocol): boolean {
  if (name === null || protocolRow(form).formOf === undefined || paths[form] !== undefined) return true
  return providerOf(name)?.paths[form] !== undefined
}

/** The path of a protocol at a channel's upstream, from its host, with `{model}` and `{verb}` where they belong. */
export function pathAt({ baseUrl, kind: name, paths }: Asked, protocol: Protocol): string {
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const own = paths[protocol]
  if (own !== undefined) return withoutRepeat(base, own) + own
  const known = providerOf(name)?.paths
  const ofKind = known?.[protocol]
  if (known !== undefined && ofKind !== undefined) return rootOf(base, Object.values(known)) + ofKind
  return joined(base, protocolRow(protocol).upstream.path)
}

/** The path at which tokens are counted, where the channel's kind has one of its own. undefined = the protocol's with its suffix. */
export function countPathAt({ baseUrl, kind: name, paths }: Asked, protocol: Protocol): string | undefined {
  const kind = providerOf(name)
  const count = kind?.special[protocol]?.count
  if (kind === null || count == null || paths[protocol] !== undefined) return undefined
  return rootOf(new URL(baseUrl).pathname.replace(/\/+$/, ''), Object.values(kind.paths)) + count.path
}

/** The call that tells how much money is left at a channel's upstream, with its path from the host; null = its kind has none. */
export function balanceCallAt({ baseUrl, kind: name }: Pick<Channel, 'baseUrl' | 'kind'>): BalanceCall | null {
  const call: BalanceCall | undefined = name === null ? undefined : (KINDS[name] as ProviderKind).balance
  if (name === null || call === undefined) return null
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '')
  return { ...call, path: rootOf(base, [...Object.values(PROVIDERS[name].paths), call.path]) + call.path }
}

export const queryAt = ({ kind: name, query }: Asked): Record<string, string> => ({
  ...providerOf(name)?.query,
  ...query,
})

const LAST_VERSION = /\/(v\d+(?:alpha|beta)?)$/
const FIRST_VERSION = /^\/(v\d+(?:alpha|beta)?)(?=\/)/

const withoutRepeat = (base: string, path: string): string => {
  const version = LAST_VERSION.exec(base)?.[1]
  return version !== undefined && FIRST_VERSION.exec(path)?.[1] === version ? base.replace(LAST_VERSION, '') : base
}

/**
 * A base that ends in a version replaces the protocol's own (`/api/paas/v4`, `/api/v3`), because that is the address which
 * clients are given. Only `/v1` beside `/v1beta` is a matter of the protocol: upstreams that speak several have both.
 */
function joined(base: string, path: string): string {
  const ofBase = LAST_VERSION.exec(base)?.[1]
  const ofPath = FIRST_VERSION.exec(path)?.[1] as string
  if (ofBase === undefined) return base + path
  if (/^v1(alpha|beta)?$/.test(ofBase) && (ofBase === 'v1') !== (ofPath === 'v1'))
    return base.replace(LAST_VERSION, '') + path
  return base + path.replace(FIRST_VERSION, '')
}

/** Cuts off of a base address what belongs to one of the kind's paths, where the address was given as far as into the path. */
function rootOf(base: string, paths: readonly string[]): string {
  const steps = base.split('/').slice(1)
  for (let from = 0; from < steps.length; from++) {
    const tail = `/${steps.slice(from).join('/')}/`
    if (paths.some(path => path.startsWith(tail))) return base.slice(0, base.length - tail.length + 1)
  }
  return base.replace(LAST_VERSION, '')
}

/** The protocol whose path ends the address, which would then stand in it twice; null = none. */
export function protocolEnding(baseUrl: string): Protocol | null {
  const path = new URL(baseUrl).pathname
  return PROTOCOLS.find(protocol => protocolRow(protocol).upstream.ending.test(path)) ?? null
}
