/**
 * Signs requests with access tokens of a service account. `google-auth-library` makes the assertion and reads the token; the request
 * for it goes through our own pools, so that it takes the way of the channel: its proxy, its certificates, no reserved address. The
 * library is loaded when the first such channel is used, because loading it takes a while.
 */
import { createRequire } from 'node:module'
import type { Clock } from '../base/clock.ts'
import { type Connection, connectionTo } from '../world/compiled-channel.ts'
import { fieldsOf } from '../protocols/fields.ts'
import type { ServiceAccount } from '../config/upstreams.ts'
import { Bearer, type Token } from './bearer.ts'
import type { Pools } from './pools.ts'
import { CredentialError, type Signer, type SignerDeps } from './signer.ts'
import { type WholeAnswer, wholeAnswer } from './whole-answer.ts'

const load = createRequire(import.meta.url)
const library = (): typeof import('google-auth-library') => load('google-auth-library')

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const TOKEN = /^[\x21-\x7e]{1,8192}$/
const LONGEST_LIFE_S = 24 * 3600
/** Clocks that differ by less agree. */
const SKEW_MS = 120_000
const LONGEST_SAID = 200

export function googleSigner(account: ServiceAccount, { clock, pools, connection, onFailure }: SignerDeps): Signer {
  const { JWT } = library()
  const url = URL.parse(account.tokenUri)
  const ask = new TokenEndpoint(
    clock,
    pools,
    url === null ? null : connectionTo(url.origin, { ...connection, http2: false }),
    url,
  )
  const fetch = async (): Promise<Token> => {
    const jwt = new JWT({
      email: account.email,
      key: account.privateKey,
      scopes: [SCOPE],
      additionalClaims: { aud: account.tokenUri },
      transporter: ask as never, // the one method of it that is used to get a token
      useAuthRequestParameters: false,
    } as ConstructorParameters<typeof JWT>[0])
    try {
      await jwt.authorize()
    } catch (error) {
      throw error instanceof CredentialError ? error : new CredentialError('unreadable', (error as Error).message)
    }
    return ask.token
  }
  return new Bearer(clock, fetch, onFailure)
}

/** The endpoint at which one account gets its tokens, one at a time. */
class TokenEndpoint {
  readonly #clock: Clock
  readonly #pools: Pools
  readonly #connection: Connection | null
  readonly #url: URL | null
  token: Token = { text: '', lifeMs: 0 }

  constructor(clock: Clock, pools: Pools, connection: Connection | null, url: URL | null) {
    this.#clock = clock
    this.#pools = pools
    this.#connection = connection
    this.#url = url
  }

  /** What the library calls. Its own address is that of Google, and the account's is asked. */
  async request({ data }: { data: URLSearchParams }): Promise<{ data: object }> {
    const answer = await this.#ask(Buffer.from(data.toString()))
    const said = saidIn(answer)
    if (answer.status !== 200) throw this.#refusal(answer, said)
    const { access_token: text, expires_in: lifeS } = said
    if (typeof text !== 'string' || !TOKEN.test(text) || typeof lifeS !== 'number' || !(lifeS > 0))
      throw new CredentialError('unreachable', 'the token endpoint answered without a token')
    this.token = { text, lifeMs: Math.min(lifeS, LONGEST_LIFE_S) * 1000 }
    return { data: said }
  }

  async #ask(body: Buffer): Promise<WholeAnswer> {
    if (this.#connection === null || this.#url === null)
      throw new CredentialError('unreadable', 'the service account cannot be read')
    const headers = ['content-type', FORM_TYPE, 'accept', 'application/json', 'accept-encoding', 'identity']
    const path = this.#url.pathname + this.#url.search
    try {
      return await wholeAnswer(this.#pools, this.#clock, this.#connection, { path, headers, body })
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message
      throw new CredentialError('unreachable', `the token endpoint cannot be reached: ${why}`)
    }
  }

  #refusal({ status, headers }: WholeAnswer, said: Record<string, unknown>): CredentialError {
    const why = [said['error'], said['error_description']].filter(one => typeof one === 'string').join(': ')
    const text = `the token endpoint answered ${status}${why === '' ? '' : ` (${why.slice(0, LONGEST_SAID)})`}`
    if (status >= 500 || status === 429 || status === 408) return new CredentialError('unreachable', text)
    const theirs = Date.parse(headers.date ?? '')
    const skewMs = Date.now() - theirs // the library reads the machine's own clock
    if (Math.abs(skewMs) > SKEW_MS)
      return new CredentialError('clock', `${text}: the clock of this machine is ${Math.round(skewMs / 1000)} s ahead`)
    if (/\b(iat|exp|timeframe)\b/i.test(why))
      return new CredentialError('clock', `${text}: is the clock of this machine right?`)
    return new CredentialError('refused', text)
  }
}

function saidIn({ body }: WholeAnswer): Record<string, unknown> {
  try {
    return fieldsOf(JSON.parse(body.toString()))
  } catch {
    return {}
  }
}
