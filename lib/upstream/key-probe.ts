/**
 * Finds out whether an upstream refuses a channel's key, by a request of our own: the upstream's list of models, which
 * costs nothing and depends on no client. It is used when the upstream has answered 401 or 403 to one account only,
 * because then that account's requests may be the cause.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { CompiledChannel, CompiledKey } from '../world/compiled-channel.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Protocol } from '../terms/records.ts'
import { requestHeaders } from './headers.ts'
import type { Pools } from './pools.ts'

/** How long the upstream's answer is waited for. */
const MOST_MS = 10_000
const ANSWERED = new Error('the question is answered')
/** The account of the request: no real one has this id. */
const NOBODY = 0
/** The version with which the usual path of every protocol begins, as the list of models has it too. */
const VERSION = /^\/v\d\w*/

/**
 * The path of the upstream's list of models, which stands where the path of the protocol begins behind its version. null = the
 * channel asks at a path of another kind, so nobody knows where the list is.
 */
export function modelsPath(protocol: Protocol, path: string): string | null {
  const own = protocolRow(protocol).upstream.path.replace(VERSION, '')
  const before = path.endsWith(own) ? path.slice(0, -own.length) : '{'
  return before.includes('{') ? null : `${before}/models`
}

/**
 * Resolves to true when the upstream refuses the key for the list of models too. Resolves to false when it does not, and also
 * when there is no answer, or no path at which to ask.
 */
export function refusesOwnQuestion(
  pools: Pools,
  clock: Clock,
  wire: Readonly<Record<string, readonly string[]>>,
  channel: CompiledChannel,
  key: CompiledKey,
): Promise<boolean> {
  const protocol = channel.protocols.find(one => modelsPath(one, channel.paths[one]) !== null)
  if (protocol === undefined) return Promise.resolve(false)
  const path = `${modelsPath(protocol, channel.paths[protocol])}${channel.query === '' ? '' : `?${channel.query}`}`
  const headers = requestHeaders({ candidate: { channel }, key }, protocol, wire, {}, NOBODY)
  const { connection } = channel
  return new Promise(resolve => {
    let controller: Dispatcher.DispatchController | null = null
    let isLearnt = false
    const learnt = (refused: boolean): void => {
      cancelLate()
      isLearnt = true
      resolve(refused)
      controller?.abort(ANSWERED)
    }
    const cancelLate = clock.after(MOST_MS, () => learnt(false))
    pools.of(connection).dispatch(
      { origin: connection.origin, method: 'GET', path, headers, headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart(given) {
          controller = given
          // it waited for a connection for so long that nobody wants the answer any more
          if (isLearnt) given.abort(ANSWERED)
        },
        onResponseStart(_, status) {
          if (status >= 200) learnt(status === 401 || status === 403)
        },
        onResponseData() {},
        onResponseEnd() {},
        onResponseError: () => learnt(false),
      },
    )
  })
}
