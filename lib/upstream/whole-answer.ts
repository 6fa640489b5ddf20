/** Sends a request of our own to an upstream, and waits for its answer: whole, short and soon, or not at all. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Connection } from '../world/compiled-channel.ts'
import type { Pools } from './pools.ts'

export interface WholeAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

export interface Question {
  path: string
  headers: string[]
  body: Buffer
}

const MOST_MS = 10_000
const MOST_BYTES = 64 * 1024

/** Rejects with an error that says why there is no answer. */
export function wholeAnswer(
  pools: Pools,
  clock: Pick<Clock, 'after'>,
  connection: Connection,
  { path, headers, body }: Question,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | null = null
    let over: Error | null = null
    const answer: WholeAnswer = { status: 0, headers: {}, body: Buffer.alloc(0) }
    const giveUp = (why: Error): void => {
      cancelLate()
      over = why
      reject(why)
      controller?.abort(why)
    }
    const cancelLate = clock.after(MOST_MS, () => giveUp(new Error(`no answer within ${MOST_MS} ms`)))
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given) {
        controller = given
        if (over !== null) given.abort(over) // it waited for a connection for too long
      },
      onResponseStart(_, status, head) {
        answer.status = status
        answer.headers = head
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
      pools
        .of(connection)
        .dispatch({ origin, method: 'POST', path, headers, body, headersTimeout: 0, bodyTimeout: 0 }, handler)
    } catch (error) {
      giveUp(error as Error)
    }
  })
}
