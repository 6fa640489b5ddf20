/**
 * Finds out whether an upstream refuses a channel's key, by a request of our own: the upstream's list of models, which
 * costs nothing and depends on no client. It is used when the upstream has answered 401 or 403 to one account only,
 * because then that account's requests may be the cause.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { CompiledChannel, CompiledKey } from '../channels/table.ts'
import { requestHeaders } from './headers.ts'
import type { Pools } from './pools.ts'

const MOST_MS = 10_000
/** The request is made for no account. */
const NOBODY = 0

/** The path of the list of models beside a protocol's own path; null = there is no known one. */
export function modelsPath(path: string): string | null {
  const own = /^([^{]*)\/(?:chat\/completions|messages|responses|images\/generations|models\/\{model\}:\{verb\})$/
  const before = own.exec(path)?.[1]
  return before === undefined ? null : `${before}/models`
}

/**
 * Resolves to true when the upstream refuses the key for the list of models too; to false also when nothing can be
 * learnt.
 */
export function refusesOwnQuestion(
  pools: Pools,
  clock: Clock,
  wire: Readonly<Record<string, readonly string[]>>,
  channel: CompiledChannel,
  key: CompiledKey,
): Promise<boolean> {
  const protocol = channel.protocols.find(one => modelsPath(channel.paths[one]) !== null)
  if (protocol === undefined) return Promise.resolve(false)
  const path = `${modelsPath(channel.paths[protocol])}${channel.query === '' ? '' : `?${channel.query}`}`
  const headers = requestHeaders({ candidate: { channel }, key }, protocol, wire, {}, NOBODY)
  const { connection } = channel
  return new Promise(resolve => {
    let controller: Dispatcher.DispatchController | null = null
    const learnt = (refused: boolean): void => {
      cancelLate()
      resolve(refused)
      controller?.abort(new Error('the question is answered'))
    }
    const cancelLate = clock.after(MOST_MS, () => learnt(false))
    pools.of(connection).dispatch(
      { origin: connection.origin, method: 'GET', path, headers, headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart: given => void (controller = given),
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
