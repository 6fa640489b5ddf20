/**
 * Azure with Microsoft Entra ID: signs requests with access tokens, which are got by a client secret, by a token that the machine's cluster writes
 * into a file (workload identity), or from the machine's own metadata address (managed identity).
 */
import { readFile } from 'node:fs/promises'
import type { EntraCredential } from '../catalog-file/upstreams.ts'
import { connectionTo, type UpstreamConnection } from '../world/compiled-channel.ts'
import { CredentialError } from './attempt.ts'
import { Bearer, type BearerToken } from './bearer.ts'
import { askForToken, FORM_TYPE, type OwnRequest } from './own-request.ts'
import type { Signer } from './signer.ts'
import type { SignerDeps } from './signer-deps.ts'

type Env = Readonly<Record<string, string | undefined>>

const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const LONGEST_ASSERTION = /^[!-~]{1,16384}$/
/** Where clouds offer the machine's own credentials, which no other request may reach. */
const METADATA = 'http://169.254.169.254'
const METADATA_PATH = '/metadata/identity/oauth2/token'
/** What tokens are for, by hosts; a channel may say otherwise. */
const FOUNDRY = /\.services\.ai\.azure\.com$/
const SCOPES = {
  foundry: 'https://ai.azure.com/.default',
  others: 'https://cognitiveservices.azure.com/.default',
}

/** The scope that a host wants, as far as is known. */
export const usualScope = (host: string): string => (FOUNDRY.test(host) ? SCOPES.foundry : SCOPES.others)

export function entraSigner(credential: EntraCredential, deps: SignerDeps, env: Env = process.env): Signer {
  const { connection } = deps
  const scope = credential.scope ?? usualScope(new URL(connection.origin).hostname)
  const fetch = async (): Promise<BearerToken> => {
    const asked =
      credential.by === 'machine'
        ? ofMachine(credential, scope, env)
        : await byProof(credential, scope, env, connection)
    return (await askForToken(deps, asked.connection, asked.request)).token
  }
  return new Bearer(deps.clock, fetch, deps.onFailure)
}

interface Asked {
  connection: UpstreamConnection
  request: OwnRequest
}

/** The way of the channel: its proxy, its certificates, no reserved address. */
async function byProof(credential: EntraCredential, scope: string, env: Env, way: UpstreamConnection): Promise<Asked> {
  const isWorkload = credential.by === 'workload'
  const tenant = credential.tenant || (isWorkload ? env['AZURE_TENANT_ID'] : '') || ''
  const client = credential.clientId || (isWorkload ? env['AZURE_CLIENT_ID'] : '') || ''
  if (tenant === '' || client === '')
    throw new CredentialError(
      'unreadable',
      'neither the channel nor AZURE_TENANT_ID and AZURE_CLIENT_ID name tenant and client',
    )
  const proof = isWorkload
    ? { client_assertion_type: ASSERTION, client_assertion: await assertionIn(env['AZURE_FEDERATED_TOKEN_FILE']) }
    : { client_secret: secretOf(credential) }
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: client, scope, ...proof })
  const { origin, pathname } = new URL(credential.authority)
  const path = `${pathname.replace(/\/+$/, '')}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`
  const body = Buffer.from(form.toString())
  return {
    connection: connectionTo(origin, { ...way, http2: false }),
    request: { method: 'POST', path, headers: ['content-type', FORM_TYPE], body },
  }
}

function secretOf({ secret }: EntraCredential): string {
  if (secret === '') throw new CredentialError('unreadable', 'the client secret cannot be read')
  return secret
}

/** The file is read each time, because the cluster replaces it. */
async function assertionIn(file: string | undefined): Promise<string> {
  if (!file) throw new CredentialError('unreadable', 'AZURE_FEDERATED_TOKEN_FILE names no file')
  let text: string
  try {
    text = (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code
    throw new CredentialError('unreadable', `the file that AZURE_FEDERATED_TOKEN_FILE names cannot be read: ${why}`)
  }
  if (!LONGEST_ASSERTION.test(text))
    throw new CredentialError('unreadable', 'the file that AZURE_FEDERATED_TOKEN_FILE names has no token in it')
  return text
}

/** App Service has an address of its own, which its environment names; other machines have the one that all of the cloud have. */
function ofMachine({ clientId }: EntraCredential, scope: string, env: Env): Asked {
  const { IDENTITY_ENDPOINT: own, IDENTITY_HEADER: secret, AZURE_POD_IDENTITY_AUTHORITY_HOST: host } = env
  const isOwn = own !== undefined && secret !== undefined
  const url = URL.parse(isOwn ? own : METADATA_PATH, isOwn ? undefined : (host ?? METADATA))
  if (url === null) throw new CredentialError('unreadable', 'the environment names an address that is none')
  url.searchParams.set('api-version', isOwn ? '2019-08-01' : '2018-02-01')
  url.searchParams.set('resource', scope.replace(/\/\.default$/, ''))
  if (clientId !== '') url.searchParams.set('client_id', clientId)
  const headers = isOwn ? ['x-identity-header', secret] : ['metadata', 'true']
  const connection = connectionTo(url.origin, { proxy: null, ca: null, http2: false, reserved: true })
  return { connection, request: { method: 'GET', path: url.pathname + url.search, headers } }
}
