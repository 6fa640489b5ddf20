/**
 * Requests of our own to upstreams, which no client has asked for: an access token is got, a channel's key is tried out, and how much
 * money is left is asked. Each is answered soon and briefly, or not at all.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import { fieldsOf } from '../protocols/json/text.ts'
import type { Protocol } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import type { BalanceSeen } from '../terms/channel-seen.ts'
import type { CompiledChannel, CompiledKey, UpstreamConnection } from '../world/compiled-channel.ts'
import { CredentialError } from './attempt.ts'
import type { BearerToken } from './bearer.ts'
import { requestHeaders } from './headers.ts'
import type { Pools } from './pools.ts'

export interface OwnRequest {
  method: 'GET' | 'POST'
  path: string
  headers: string[]
  body?: Buffer
  /** The rest of the answer is not read when its head has come. */
  headOnly?: boolean
}

interface OwnAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

const MOST_MS = 10_000
const MOST_BYTES = 64 * 1024
/** The account of a request of our own: no real one has this id. */
const NOBODY = 0
/** The version with which the usual path of every protocol begins, as the list of models has it too. */
const VERSION = /^\/v\d\w*/

/** Rejects with an error that says why there is no answer. */
function ownRequest(
  pools: Pools,
  clock: Pick<Clock, 'after'>,
  connection: UpstreamConnection,
  { headOnly = false, ...request }: OwnRequest,
): Promise<OwnAnswer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | null = null
    let over: Error | null = null
    const answer: OwnAnswer = { status: 0, headers: {}, body: Buffer.alloc(0) }
    const end = (why: Error): void => {
      cancelLate()
      over = why
      controller?.abort(why)
    }
    const giveUp = (why: Error): void => {
      reject(why)
      end(why)
    }
    const cancelLate = clock.after(MOST_MS, () => giveUp(new Error(`no answer within ${MOST_MS} ms`)))
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given) {
        controller = given
        if (over !== null) given.abort(over) // it waited for a connection for so long that nobody wants the answer
      },
      onResponseStart(_, status, headers) {
        if (status < 200) return
        answer.status = status
        answer.headers = headers
        if (!headOnly) return
        resolve(answer)
        end(new Error('the request is answered'))
      },
      onResponseData(_, chunk) {
        answer.body = Buffer.concat([answer.body, chunk])
        if (answer.body.length > MOST_BYTES) giveUp(new Error(`an answer of more than ${MOST_BYTES} bytes`))
      },
      onResponseEnd() {
        cancelLate()
        resolve(answer)
      },
      onResponseError: (_, error) => giveUp(error),
    }
    const { origin } = connection
    try {
      pools.of(connection).dispatch({ origin, ...request, headersTimeout: 0, bodyTimeout: 0 }, handler)
    } catch (error) {
      giveUp(error as Error)
    }
  })
}

/**
 * The path of the upstream's list of models, which stands where the path of the protocol begins behind its version. null = the
 * channel asks at a path of another kind, so nobody knows where the list is.
 */
export function modelsPath(protocol: Protocol, path: string): string | null {
  const { client, upstream } = protocolRow(protocol)
  if (client.paths.length === 0) return null
  const own = upstream.path.replace(VERSION, '')
  const before = path.endsWith(own) ? path.slice(0, -own.length) : '{'
  return before.includes('{') ? null : `${before}/models`
}

/**
 * Finds out whether an upstream refuses a channel's key for its list of models too, which costs nothing and depends on no client. It
 * is used when the upstream has answered 401 or 403 to one account only, because then that account's requests may be the cause.
 * Resolves to false also when there is no answer, or no path at which to ask.
 */
export async function upstreamRefusesKey(
  pools: Pools,
  clock: Clock,
  wire: Readonly<Record<string, readonly string[]>>,
  channel: CompiledChannel,
  key: CompiledKey,
): Promise<boolean> {
  const protocol = channel.protocols.find(one => modelsPath(one, channel.paths[one]) !== null)
  if (protocol === undefined) return false
  const path = `${modelsPath(protocol, channel.paths[protocol])}${channel.query === '' ? '' : `?${channel.query}`}`
  const headers = requestHeaders({ candidate: { channel }, key }, protocol, wire, {}, NOBODY)
  try {
    const { status } = await ownRequest(pools, clock, channel.connection, {
      method: 'GET',
      path,
      headers,
      headOnly: true,
    })
    return status === 401 || status === 403
  } catch {
    return false
  }
}

/** How much money is left at a channel's upstream, as it tells one of the channel's keys. `reason` says nothing that it has sent. */
export async function upstreamBalance(
  pools: Pools,
  clock: Pick<Clock, 'after'>,
  { balance, connection, query }: CompiledChannel,
  { secret }: CompiledKey,
): Promise<BalanceSeen> {
  if (balance === null) return { reason: 'its kind has no call for it' }
  const path = `${balance.path}${query === '' ? '' : `?${query}`}`
  const headers = ['authorization', `Bearer ${secret}`, 'accept', 'application/json', 'accept-encoding', 'identity']
  try {
    const { status, body } = await ownRequest(pools, clock, connection, { method: 'GET', path, headers })
    if (status !== 200) return { reason: `it answers ${status}` }
    return balance.read(parsed(body), new URL(connection.origin).hostname) ?? { reason: 'its answer names no balance' }
  } catch (error) {
    return { reason: (error as NodeJS.ErrnoException).code ?? (error as Error).message }
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return null
  }
}

// --- an access token

export const FORM_TYPE = 'application/x-www-form-urlencoded'
const TOKEN = /^[\x21-\x7e]{1,8192}$/
const LONGEST_LIFE_S = 24 * 3600
/** Clocks that differ by less agree. */
const SKEW_MS = 120_000
const LONGEST_SAID = 200

interface TokenAnswer {
  token: BearerToken
  /** The whole answer. */
  said: Record<string, unknown>
}

/** Asks for a token. Rejects with CredentialError. */
export async function askForToken(
  { clock, pools }: { clock: Clock; pools: Pools },
  connection: UpstreamConnection,
  { headers, ...request }: OwnRequest,
): Promise<TokenAnswer> {
  const all = [...headers, 'accept', 'application/json', 'accept-encoding', 'identity']
  let answer: OwnAnswer
  try {
    answer = await ownRequest(pools, clock, connection, { ...request, headers: all })
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    throw new CredentialError('unreachable', `the token endpoint cannot be reached: ${why}`)
  }
  const said = saidIn(answer)
  if (answer.status !== 200) throw refusal(answer, said)
  const { access_token: text, expires_in: life } = said
  const lifeS = typeof life === 'string' ? Number(life) : life // some say it as a text
  if (typeof text !== 'string' || !TOKEN.test(text) || typeof lifeS !== 'number' || !(lifeS > 0))
    throw new CredentialError('unreachable', 'the token endpoint answered without a token')
  return { token: { text, lifeMs: Math.min(lifeS, LONGEST_LIFE_S) * 1000 }, said }
}

function refusal({ status, headers }: OwnAnswer, said: Record<string, unknown>): CredentialError {
  const why = [said['error'], said['error_description']].filter(one => typeof one === 'string').join(': ')
  const text = `the token endpoint answered ${status}${why === '' ? '' : ` (${why.slice(0, LONGEST_SAID)})`}`
  if (status >= 500 || status === 429 || status === 408) return new CredentialError('unreachable', text)
  const theirs = Date.parse(headers.date ?? '')
  const skewMs = Date.now() - theirs // the assertion has the machine's own time
  if (Math.abs(skewMs) > SKEW_MS)
    return new CredentialError('clock', `${text}: the clock of this machine is ${Math.round(skewMs / 1000)} s ahead`)
  if (/\b(iat|exp|timeframe|AADSTS700024)\b/i.test(why))
    return new CredentialError('clock', `${text}: is the clock of this machine right?`)
  return new CredentialError('refused', text)
}

function saidIn({ body }: OwnAnswer): Record<string, unknown> {
  try {
    return fieldsOf(JSON.parse(body.toString()))
  } catch {
    return {}
  }
}
