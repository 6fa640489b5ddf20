/**
 * Signs the requests of channels that have keys of AWS (Signature Version 4) by the library aws4, which is loaded when the first
 * channel needs it. Nothing is got with the keys, and only for a large body something is waited for. Signed are the host, the path as
 * it is sent, the type and the digest of the body, and the time; AWS refuses a request whose time differs from its own by more
 * than five minutes.
 */
import { createHash, type Hash } from 'node:crypto'
import { createRequire } from 'node:module'
import type { Dispatcher } from 'undici'
import { inSlices, LARGE_BYTES } from '../../base/slices.ts'
import type { AwsKeys } from '../../catalog-file/upstreams.ts'
import type { Signer } from '../signer.ts'
import type { SignerDeps } from '../signer-deps.ts'
import { CredentialError } from '../attempt.ts'

const NONE: readonly string[] = []

export function awsSigner(keys: AwsKeys, { clock, service }: Pick<SignerDeps, 'clock' | 'service'>): Signer {
  const aws4 = library()
  const signed = (request: Dispatcher.DispatchOptions, digest: Hash): string[] => {
    const { origin, method, path, headers: sent } = request
    const headers: Record<string, string> = { host: new URL(String(origin)).host }
    const type = headerIn(sent as readonly string[], 'content-type')
    if (type !== undefined) headers['content-type'] = type
    return signatureHeaders(aws4, { service, method, path, headers, digest: digest.digest('hex') }, keys, clock.now())
  }
  return {
    minted: NONE,
    sign(request: Dispatcher.DispatchOptions): readonly string[] | Promise<readonly string[]> {
      if (keys.secretAccessKey === '') throw new CredentialError('unreadable', 'the keys of AWS cannot be read')
      const { body } = request
      const parts = Buffer.isBuffer(body) ? [body] : ((body ?? []) as unknown as readonly Buffer[])
      const digest = createHash('sha256')
      const feed = (piece: Buffer): void => void digest.update(piece)
      if (parts.reduce((sum, { length }) => sum + length, 0) > LARGE_BYTES)
        return inSlices(clock, parts, feed).then(() => signed(request, digest))
      parts.forEach(feed)
      return signed(request, digest)
    },
    refused: () => false,
  }
}

function headerIn(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text === name)
  return at < 0 ? undefined : headers[at + 1]
}

export interface ToSign {
  service: string
  method: string
  /** With its query. */
  path: string
  /** The headers to be signed as they are sent, by names in lower case, the host among them. */
  headers: Readonly<Record<string, string>>
  /** SHA-256 of the body, in hexadecimal. */
  digest: string
}

interface Aws4 {
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
/** The library is loaded when a signer is made, and not with its first request. */
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
