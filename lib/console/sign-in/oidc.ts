/**
 * The way to an OpenID provider and back: authorization code with PKCE, state and nonce. It begins with a call that
 * answers with the provider's address, and ends with the one GET that opens a session. A cookie binds the two, works once
 * and for ten minutes. The library is loaded when somebody goes that way.
 */
import type { Configuration } from 'openid-client'
import { OperationError, both } from '../../operations/error.ts'
import type { By } from '../../operations/people/deps.ts'
import { OwnUser } from '../../operations/people/me.ts'
import { SignIn, type Vouched } from '../../operations/people/sign-in.ts'
import type { Config } from '../../config/config.ts'
import { hashOf, isToken, newToken } from '../../base/secrets.ts'
import type { ConsoleDeps } from '../api/shared.ts'
import { ownPage } from '../../../web/shared/own-page.ts'
import { hrefTo } from '../../../web/shared/sitemap.ts'
import { dropCookie, type Jar, keepOpened, keepSession, readCookie, setCookie } from './identities.ts'

const LIFE_S = 600
const CALLBACK = '/console/api/sign-in/oidc/callback'
const SIGN_IN_PAGE = hrefTo('sign-in')
const SECURITY_PAGE = hrefTo('security')

type Provider = NonNullable<Config['oidc']>
export type Purpose = 'sign_in' | 'link' | 'step_up'

/** What is kept between the two halves. */
interface Flow {
  state: string
  nonce: string
  verifier: string
  purpose: Purpose
  /** The page that asked for it. */
  next: string | null
}

const library = () => import('openid-client')

/** What each provider says of itself, as long as the config that names it is in force. */
const known = new WeakMap<Provider, Promise<Configuration>>()

function discovered(provider: Provider): Promise<Configuration> {
  const there = known.get(provider)
  if (there !== undefined) return there
  const asked = discover(provider)
  known.set(provider, asked)
  asked.catch(() => known.delete(provider))
  return asked
}

async function discover({ issuer, clientId, clientSecret }: Provider): Promise<Configuration> {
  const { allowInsecureRequests, discovery } = await library()
  const execute = issuer.startsWith('http:') ? [allowInsecureRequests] : []
  return discovery(new URL(issuer), clientId, clientSecret, undefined, { execute, timeout: 10 })
}

function providerOf({ config }: ConsoleDeps): Provider {
  const provider = config().oidc
  if (provider !== null) return provider
  throw new OperationError('conflict', both('未配置单点登录', 'there is no OpenID provider'))
}

/** The address to which the browser goes. `next`: the page that it comes back to. */
export async function startOidc(
  deps: ConsoleDeps,
  jar: Jar,
  by: By,
  purpose: Purpose,
  next: string | null = null,
): Promise<{ url: string }> {
  const provider = providerOf(deps)
  await new SignIn(deps).countUnknown(by)
  const [client, configuration] = await Promise.all([library(), discovered(provider).catch(unreachable(deps))])
  const flow = {
    state: client.randomState(),
    nonce: client.randomNonce(),
    verifier: client.randomPKCECodeVerifier(),
    purpose,
    next,
  }
  const secret = newToken()
  const createdAtMs = deps.clock.now()
  const about = { kind: 'oidc', email: null, accountId: null, role: null, operator: false } as const
  const expiresAtMs = createdAtMs + LIFE_S * 1_000
  const userId = by.user?.id ?? null
  await deps.store.people.links.create(
    { ...about, hash: hashOf(secret), userId, doc: flow, createdAtMs, expiresAtMs },
    null,
  )
  setCookie(jar, 'oidc', secret, LIFE_S)
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: jar.site.main + CALLBACK,
    scope: provider.scopes.join(' '),
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
    ...(purpose === 'step_up' ? { max_age: '0' } : {}),
  })
  return { url: url.href }
}

const unreachable =
  ({ log }: ConsoleDeps) =>
  (error: unknown) => {
    log.error({ err: error }, 'the OpenID provider does not answer')
    throw new OperationError('conflict', both('身份提供方无法访问', 'the OpenID provider does not answer'))
  }

/** Where the browser goes in the end. Refusals are told by the page, since the browser shows whatever comes. */
export async function finishOidc(deps: ConsoleDeps, jar: Jar, by: By, query: object): Promise<string> {
  const secret = readCookie(jar, 'oidc')
  dropCookie(jar, 'oidc')
  const link = isToken(secret) ? await deps.store.people.links.use('oidc', hashOf(secret), deps.clock.now()) : null
  if (link === null || link.userId !== (by.user?.id ?? null)) return `${SIGN_IN_PAGE}?oidc=again`
  const flow = link.doc as unknown as Flow
  const page = flow.purpose === 'sign_in' ? SIGN_IN_PAGE : SECURITY_PAGE
  try {
    return await finished(deps, jar, by, flow, await vouchedFor(deps, jar, flow, query))
  } catch (error) {
    if (error instanceof OperationError) return `${page}?oidc=refused`
    deps.log.warn(saidBy(error), 'a sign-in by the OpenID provider failed')
    return `${page}?oidc=failed`
  }
}

const MOST_SAID = 200

/** Whoever calls the callback chooses what the provider seems to have said: a bounded line of it goes into the log. */
function saidBy(error: unknown): object {
  const clean = (value: unknown) =>
    typeof value === 'string' ? value.replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, ' ').slice(0, MOST_SAID) : undefined
  const { name, message, code, error: said, error_description: why } = (error ?? {}) as Record<string, unknown>
  return { name: clean(name), code: clean(code), message: clean(message), said: clean(said), why: clean(why) }
}

async function vouchedFor(deps: ConsoleDeps, jar: Jar, flow: Flow, query: object): Promise<Vouched> {
  const [client, configuration] = await Promise.all([library(), discovered(providerOf(deps))])
  const here = new URL(jar.site.main + CALLBACK)
  here.search = new URLSearchParams(query as Record<string, string>).toString()
  const tokens = await client.authorizationCodeGrant(configuration, here, {
    pkceCodeVerifier: flow.verifier,
    expectedState: flow.state,
    expectedNonce: flow.nonce,
    idTokenExpected: true,
    ...(flow.purpose === 'step_up' ? { maxAge: 0 } : {}),
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new Error('the provider sent no id token')
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: text(claims['email']),
    emailVerified: claims['email_verified'] === true,
    name: text(claims['name']),
    authAtMs: typeof claims.auth_time === 'number' ? claims.auth_time * 1_000 : null,
  }
}

async function finished(deps: ConsoleDeps, jar: Jar, by: By, flow: Flow, vouched: Vouched): Promise<string> {
  const { purpose, next } = flow
  if (purpose === 'link')
    return `${SECURITY_PAGE}?oidc=${(await new OwnUser(deps).linkProvider(by, vouched)) ? 'linked' : 'taken'}`
  if (purpose === 'step_up') {
    const session = await new SignIn(deps).proveByProvider(by, vouched)
    if (session !== null) keepSession(jar, session)
    if (session === null) return `${SECURITY_PAGE}?oidc=refused`
    return next === null ? `${SECURITY_PAGE}?oidc=proven` : ownPage(next)
  }
  const done = await new SignIn(deps).byProvider(by, vouched)
  if (done === null) return `${SIGN_IN_PAGE}?oidc=unknown`
  if (done.state === 'second_factor') {
    const asked = new URLSearchParams({ ...(next !== null && { next }), ...(done.passkey && { passkey: '' }) })
    return `${SIGN_IN_PAGE}${asked.size === 0 ? '' : `?${asked}`}#${done.challenge}`
  }
  keepOpened(jar, done.opened)
  return ownPage(next)
}
