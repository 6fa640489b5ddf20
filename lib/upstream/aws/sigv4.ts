/**
 * Signs requests to AWS (Signature Version 4) by the library aws4, which is loaded when the first channel needs it. What is signed
 * is the host, the path as it is sent, the type and the digest of the body, and the time; AWS refuses a request whose time differs
 * from its own by more than five minutes.
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import type { AwsKeys } from '../../config/upstreams.ts'

export interface ToSign {
  service: string
  method: string
  /** With its query. */
  path: string
  /** As they are sent, by names in lower case: the host, and what else is to be signed. */
  headers: Readonly<Record<string, string>>
  /** Of the body, as `BodyDigest` gives it. */
  digest: string
}

export interface Aws4 {
  sign(
    request: {
      service: string
      region: string
      method: string
      path: string
      headers: Record<string, string>
    },
    keys: { accessKeyId: string; secretAccessKey: string },
  ): { headers: Record<string, string> }
}

const load = createRequire(import.meta.url)
/** It is loaded when a signer is made, and not with its first request. */
export const library = (): Aws4 => load('aws4') as Aws4

/** The headers to add, as `[name, value, …]`. */
export function signatureHeaders(
  { sign }: Aws4,
  request: ToSign,
  keys: Omit<AwsKeys, 'form'>,
  nowMs: number,
): string[] {
  const { service, method, path, headers, digest } = request
  const added: Record<string, string> = {
    'x-amz-date': new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, ''),
    'x-amz-content-sha256': digest,
    ...(keys.sessionToken === null ? {} : { 'x-amz-security-token': keys.sessionToken }),
  }
  const signed = sign(
    {
      service,
      region: keys.region,
      method,
      path,
      headers: { ...headers, ...added },
    },
    { accessKeyId: keys.accessKeyId, secretAccessKey: keys.secretAccessKey },
  )
  return [...Object.entries(added).flat(), 'authorization', signed.headers['Authorization'] as string]
}

/** The digest of a body that is handed on. */
export class BodyDigest {
  readonly #hash = createHash('sha256')

  feed(piece: Buffer): void {
    this.#hash.update(piece)
  }

  /** Once, when all of it was handed on. */
  hex(): string {
    return this.#hash.digest('hex')
  }
}
