/**
 * The schema of a channel's credential in the catalogue file: a plain key, a service account of Google Cloud, or keys of Amazon Web
 * Services. The kind of the channel decides which of them it has; whatever is left out of one is a problem, and none is ever shown.
 */
import { createPrivateKey } from 'node:crypto'
import { z } from 'zod'
import type { CredentialForm } from '../protocols/words/kinds.ts'
import { isLoopback } from './addresses.ts'
import * as kind from './scalars.ts'
import {
  type AwsKeys,
  type UpstreamCredential,
  credentialFormOf,
  upstreamCredential,
  credentialText,
  type KindName,
} from './upstreams.ts'

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
}

export const CREDENTIAL_NAMES = Object.keys(credentials) as (keyof typeof credentials)[]

interface Given {
  key?: string | undefined
  service_account?: UpstreamCredential | undefined
  aws?: z.output<typeof aws> | undefined
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
  const texts = keys?.map(textOf) ?? []
  return new Set(texts).size === texts.length ? null : 'keys that differ from each other'
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

/** The text of the one credential that is given. */
export function textOf({ key, service_account: account, aws: keys }: Given): string {
  if (account !== undefined) return credentialText(account)
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
}
