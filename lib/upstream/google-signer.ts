/**
 * Signs requests with access tokens of a service account. `google-auth-library` makes the assertion and reads the token; the request
 * for it goes through our own pools, so that it takes the way of the channel: its proxy, its certificates, no reserved address. The
 * library is loaded when the first such channel is used, because loading it takes a while.
 *
 * A token is used until shortly before it ends. A new one is asked for ahead of that, while requests still go out with the old one;
 * only where there is none that can be used do requests wait, all for the same answer. For a moment after a failure nobody asks again.
 */
import { createRequire } from 'node:module'
import type { Clock } from '../base/clock.ts'
import { type UpstreamConnection, connectionTo } from '../world/compiled-channel.ts'
import { fieldsOf } from '../protocols/json/text.ts'
import type { ServiceAccount } from '../catalog/upstreams.ts'
import type { Pools } from './pools.ts'
import type { Signer, SignerDeps } from './signer.ts'
import { CredentialError } from './attempt.ts'
import { type OwnAnswer, ownRequest } from './own-request.ts'

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
  const fetch = async (): Promise<BearerToken> => {
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
  readonly #connection: UpstreamConnection | null
  readonly #url: URL | null
  token: BearerToken = { text: '', lifeMs: 0 }

  constructor(clock: Clock, pools: Pools, connection: UpstreamConnection | null, url: URL | null) {
    this.#clock = clock
    this.#pools = pools
    this.#connection = connection
    this.#url = url
  }

  /** The library calls this. Its own address is that of Google, and the account's is asked. */
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

  async #ask(body: Buffer): Promise<OwnAnswer> {
    if (this.#connection === null || this.#url === null)
      throw new CredentialError('unreadable', 'the service account cannot be read')
    const headers = ['content-type', FORM_TYPE, 'accept', 'application/json', 'accept-encoding', 'identity']
    const path = this.#url.pathname + this.#url.search
    try {
      return await ownRequest(this.#pools, this.#clock, this.#connection, { method: 'POST', path, headers, body })
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message
      throw new CredentialError('unreachable', `the token endpoint cannot be reached: ${why}`)
    }
  }

  #refusal({ status, headers }: OwnAnswer, said: Record<string, unknown>): CredentialError {
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

function saidIn({ body }: OwnAnswer): Record<string, unknown> {
  try {
    return fieldsOf(JSON.parse(body.toString()))
  } catch {
    return {}
  }
}

export interface BearerToken {
  text: string
  lifeMs: number
}

/** Gets a new token, within a bounded time. Rejects with CredentialError. */
type Fetch = () => Promise<BearerToken>

/** A token is replaced when it has less than this left, and not used when it has less than that. */
const REPLACED_MS = 300_000
const SPARE_MS = 10_000
/** The share of their life that is enough for short tokens. */
const REPLACED_SHARE = 0.2
const FAILED_MS = 2_000
/** The token, and the one before it, which requests that are under way still have. */
const MOST_MINTED = 2
/** An upstream that refuses every token gets a new one only so often. */
const RENEWED_MS = 60_000

export class Bearer implements Signer {
  readonly #clock: Clock
  readonly #fetch: Fetch
  /** Called when there is no new token while the old one is still good. */
  readonly #onFailure: (error: CredentialError) => void
  readonly minted: string[] = []
  /** Monotonic ms. */
  #replaceMs = 0
  #endMs = 0
  #headers: readonly string[] = []
  #fetching: Promise<void> | null = null
  #failure: CredentialError | null = null
  #failedMs = 0
  #renewedMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, fetch: Fetch, onFailure: (error: CredentialError) => void) {
    this.#clock = clock
    this.#fetch = fetch
    this.#onFailure = onFailure
  }

  sign(): readonly string[] | Promise<readonly string[]> {
    const now = this.#clock.monotonic()
    if (now < this.#replaceMs) return this.#headers
    if (now < this.#endMs) {
      if (this.#fetching === null && !this.#rests(now)) this.#renew().catch(this.#onFailure)
      return this.#headers
    }
    if (this.#fetching === null && this.#rests(now)) return Promise.reject(this.#failure as CredentialError)
    return this.#renew().then(() => this.#headers)
  }

  #rests(nowMs: number): boolean {
    return this.#failure !== null && nowMs - this.#failedMs < FAILED_MS
  }

  refused(headers: readonly string[]): boolean {
    const now = this.#clock.monotonic()
    // a newer one is there already, or is being asked for
    if (!headers.includes(this.#headers[1] ?? '') || this.#endMs === 0) return true
    if (now - this.#renewedMs < RENEWED_MS) return false
    this.#renewedMs = now
    this.#replaceMs = this.#endMs = 0
    return true
  }

  #renew(): Promise<void> {
    this.#fetching ??= this.#ask().finally(() => (this.#fetching = null))
    return this.#fetching
  }

  async #ask(): Promise<void> {
    try {
      const { text, lifeMs } = await this.#fetch()
      const now = this.#clock.monotonic()
      this.minted.splice(0, MOST_MINTED, text, ...this.minted.slice(0, MOST_MINTED - 1))
      this.#headers = ['authorization', `Bearer ${text}`]
      this.#replaceMs = now + lifeMs - Math.min(REPLACED_MS, lifeMs * REPLACED_SHARE)
      this.#endMs = now + lifeMs - Math.min(SPARE_MS, lifeMs * REPLACED_SHARE)
      this.#failure = null
    } catch (error) {
      this.#failure =
        error instanceof CredentialError ? error : new CredentialError('unreachable', (error as Error).message)
      this.#failedMs = this.#clock.monotonic()
      throw this.#failure
    }
  }
}
