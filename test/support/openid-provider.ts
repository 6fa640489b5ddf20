/** An OpenID provider with a key of its own: it vouches for whom the test says, and checks what a provider checks. */
import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OpenidProvider {
  issuer: string
  /** Whom it vouches for, and what else its tokens say. */
  claims: Record<string, unknown>
  /** Where the provider sends a browser back to that was sent to `url`. A real browser learns it at that address. */
  visit(url: string): Promise<URL>
}

export const CLIENT = { id: 'the gateway', secret: 'a-secret-of-the-client' }

interface Asked {
  challenge: string
  nonce: string
  redirect: string
}

/** `nowMs`: the provider's clock. */
export async function startOpenidProvider(
  t: { teardown(fn: () => unknown): void },
  nowMs: () => number,
): Promise<OpenidProvider> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const codes = new Map<string, Asked>()
  const made: OpenidProvider = { issuer: '', claims: {}, visit: () => Promise.reject(new Error('not yet')) }

  const idToken = (asked: Asked) => {
    const nowS = Math.floor(nowMs() / 1000)
    const header = { alg: 'RS256', kid: 'one', typ: 'JWT' }
    const body = { iss: made.issuer, aud: CLIENT.id, iat: nowS, exp: nowS + 300, nonce: asked.nonce, ...made.claims }
    const text = [header, body].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey).toString('base64url')}`
  }

  const answer = (path: string, query: URLSearchParams, authorization: string): [status: number, body: object] => {
    if (path === '/.well-known/openid-configuration')
      return [
        200,
        {
          issuer: made.issuer,
          authorization_endpoint: `${made.issuer}/authorize`,
          token_endpoint: `${made.issuer}/token`,
          jwks_uri: `${made.issuer}/jwks`,
          response_types_supported: ['code'],
          id_token_signing_alg_values_supported: ['RS256'],
          token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
          code_challenge_methods_supported: ['S256'],
        },
      ]
    if (path === '/jwks')
      return [200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] }]
    if (path !== '/token') return [404, {}]
    const asked = codes.get(query.get('code') ?? '')
    codes.delete(query.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(query.get('code_verifier') ?? '')
      .digest('base64url')
    const [, basic = ''] = /^Basic (.+)$/.exec(authorization) ?? []
    const [id, secret] = Buffer.from(basic, 'base64')
      .toString()
      .split(':')
      .map(part => decodeURIComponent(part.replaceAll('+', ' ')))
    const isClient =
      [id ?? query.get('client_id'), secret ?? query.get('client_secret')].join() ===
        [CLIENT.id, CLIENT.secret].join() ||
      [query.get('client_id'), query.get('client_secret')].join() === [CLIENT.id, CLIENT.secret].join()
    if (!isClient) return [401, { error: 'invalid_client' }]
    if (asked?.challenge !== challenge || asked.redirect !== query.get('redirect_uri'))
      return [400, { error: 'invalid_grant' }]
    return [200, { access_token: 'an access token', token_type: 'Bearer', expires_in: 60, id_token: idToken(asked) }]
  }

  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      const url = new URL(req.url as string, made.issuer)
      const query = req.method === 'POST' ? new URLSearchParams(Buffer.concat(chunks).toString()) : url.searchParams
      if (url.pathname === '/authorize') {
        void made.visit(url.href).then(back => res.writeHead(303, { location: back.href }).end())
        return
      }
      const [status, body] = answer(url.pathname, query, req.headers.authorization ?? '')
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  made.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  made.visit = async address => {
    const { searchParams: asked } = new URL(address)
    const code = randomBytes(16).toString('hex')
    const redirect = asked.get('redirect_uri') ?? ''
    codes.set(code, { challenge: asked.get('code_challenge') ?? '', nonce: asked.get('nonce') ?? '', redirect })
    const back = new URL(redirect)
    back.search = new URLSearchParams({ code, state: asked.get('state') ?? '', session_state: 'its own' }).toString()
    return back
  }
  return made
}
