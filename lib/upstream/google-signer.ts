/**
 * Signs requests with access tokens of a service account of Google. `google-auth-library` makes the assertion; the request for the token goes
 * through our own pools, so that it takes the way of the channel: its proxy, its certificates, no reserved address. The library is loaded when
 * the first such channel is used, because loading it takes a while.
 */
import { createRequire } from 'node:module'
import type { ServiceAccount } from '../catalog-file/upstreams.ts'
import { connectionTo } from '../world/compiled-channel.ts'
import { CredentialError } from './attempt.ts'
import { Bearer, type BearerToken } from './bearer.ts'
import { askForToken, FORM_TYPE } from './own-request.ts'
import type { Signer } from './signer.ts'
import type { SignerDeps } from './signer-deps.ts'

const load = createRequire(import.meta.url)
const library = (): typeof import('google-auth-library') => load('google-auth-library')

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

export function googleSigner(account: ServiceAccount, deps: SignerDeps): Signer {
  const { JWT } = library()
  const url = URL.parse(account.tokenUri)
  const fetch = async (): Promise<BearerToken> => {
    let token: BearerToken = { text: '', lifeMs: 0 }
    /** The library calls this. Its own address is that of Google, and the account's is asked. */
    const request = async ({ data }: { data: URLSearchParams }): Promise<{ data: object }> => {
      if (url === null) throw new CredentialError('unreadable', 'the service account cannot be read')
      const connection = connectionTo(url.origin, { ...deps.connection, http2: false })
      const answer = await askForToken(deps, connection, {
        method: 'POST',
        path: url.pathname + url.search,
        headers: ['content-type', FORM_TYPE],
        body: Buffer.from(data.toString()),
      })
      token = answer.token
      return { data: answer.said }
    }
    const jwt = new JWT({
      email: account.email,
      key: account.privateKey,
      scopes: [SCOPE],
      additionalClaims: { aud: account.tokenUri },
      transporter: { request } as never, // the one method of it that is used to get a token
      useAuthRequestParameters: false,
    } as ConstructorParameters<typeof JWT>[0])
    try {
      await jwt.authorize()
    } catch (error) {
      throw error instanceof CredentialError ? error : new CredentialError('unreadable', (error as Error).message)
    }
    return token
  }
  return new Bearer(deps.clock, fetch, deps.onFailure)
}
