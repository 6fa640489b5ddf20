/** Signs the requests of channels that have keys of AWS. Nothing has to be waited for, and nothing is got with the keys. */
import type { Dispatcher } from 'undici'
import type { AwsKeys } from '../../terms/upstream-credentials.ts'
import { CredentialError, type Signer, type SignerDeps } from '../signer.ts'
import { library, signatureHeaders } from './sigv4.ts'

const SERVICE = 'bedrock'
const NONE: readonly string[] = []

export function awsSigner(keys: AwsKeys, { clock }: Pick<SignerDeps, 'clock'>): Signer {
  const aws4 = library()
  return {
    minted: NONE,
    sign({ origin, method, path, headers, body }: Dispatcher.DispatchOptions): readonly string[] {
      if (keys.secretAccessKey === '') throw new CredentialError('unreadable', 'the keys of AWS cannot be read')
      const signed: Record<string, string> = { host: new URL(String(origin)).host }
      const type = headerIn(headers as readonly string[], 'content-type')
      if (type !== undefined) signed['content-type'] = type
      const parts = Buffer.isBuffer(body) ? [body] : ((body ?? []) as unknown as readonly Buffer[])
      return signatureHeaders(aws4, { service: SERVICE, method, path, headers: signed, body: parts }, keys, clock.now())
    },
    refused: () => false,
  }
}

function headerIn(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text === name)
  return at < 0 ? undefined : headers[at + 1]
}
