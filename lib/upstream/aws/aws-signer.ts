/** Signs the requests of channels that have keys of AWS. Nothing is got with the keys, and only for a large body something is waited for. */
import type { Dispatcher } from 'undici'
import { inSlices, LARGE_BYTES } from '../../base/slices.ts'
import type { AwsKeys } from '../../config/upstreams.ts'
import { CredentialError, type Signer, type SignerDeps } from '../signer.ts'
import { BodyDigest, library, signatureHeaders } from './sigv4.ts'

const SERVICE = 'bedrock'
const NONE: readonly string[] = []

export function awsSigner(keys: AwsKeys, { clock }: Pick<SignerDeps, 'clock'>): Signer {
  const aws4 = library()
  const signed = (request: Dispatcher.DispatchOptions, digest: BodyDigest): string[] => {
    const { origin, method, path, headers: sent } = request
    const headers: Record<string, string> = { host: new URL(String(origin)).host }
    const type = headerIn(sent as readonly string[], 'content-type')
    if (type !== undefined) headers['content-type'] = type
    return signatureHeaders(aws4, { service: SERVICE, method, path, headers, digest: digest.hex() }, keys, clock.now())
  }
  return {
    minted: NONE,
    sign(request: Dispatcher.DispatchOptions): readonly string[] | Promise<readonly string[]> {
      if (keys.secretAccessKey === '') throw new CredentialError('unreadable', 'the keys of AWS cannot be read')
      const { body } = request
      const parts = Buffer.isBuffer(body) ? [body] : ((body ?? []) as unknown as readonly Buffer[])
      const digest = new BodyDigest()
      const feed = (piece: Buffer): void => digest.feed(piece)
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
