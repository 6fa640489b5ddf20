/**
 * Credentials of channels that are more than a key: requests do not carry them, but are signed with them or carry a token that was
 * got with them. Everywhere a credential is one text, as a plain key is, so that it is stored, encrypted and hidden like one; here it
 * is written and read.
 */
import type { CredentialForm } from '../protocols/kinds.ts'
import { type KindName, kindOf } from './upstream-kinds.ts'

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
  /** Of temporary keys; null = they are not temporary. */
  sessionToken: string | null
  region: string
}

export type Credential = ServiceAccount | AwsKeys

export const credentialFormOf = (kind: KindName | null): CredentialForm | null => kindOf(kind)?.credential ?? null

export const credentialText = (credential: Credential): string => JSON.stringify(credential)

const UNREADABLE: Readonly<Record<CredentialForm, Credential>> = {
  service_account: { form: 'service_account', email: '', privateKey: '', tokenUri: '' },
  aws: { form: 'aws', accessKeyId: '', secretAccessKey: '', sessionToken: null, region: '' },
}

/**
 * The credential that a key of a channel of this kind is; null = it is a plain key. A text that is no credential of the kind's form
 * (it was sealed under another secret) becomes one with which nothing can be signed, so that the text is never sent.
 */
export function credentialOf(kind: KindName | null, text: string): Credential | null {
  const form = credentialFormOf(kind)
  if (form === null) return null
  try {
    const credential = JSON.parse(text) as Credential
    return credential.form === form ? credential : UNREADABLE[form]
  } catch {
    return UNREADABLE[form]
  }
}

/** What of a credential nobody may see. */
export function secretsIn(credential: Credential): string[] {
  if (credential.form === 'service_account') return [bare(credential.privateKey)]
  const { accessKeyId, secretAccessKey, sessionToken } = credential
  return [accessKeyId, secretAccessKey, sessionToken ?? '']
}

/** A PEM without its first and last line, which are no secret, and without line breaks, so that it is found however it is broken. */
const bare = (pem: string): string => pem.replace(/-----[^-]*-----|\s/g, '')
