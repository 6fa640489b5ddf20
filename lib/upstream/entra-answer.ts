/**
 * Answers to tokens of Microsoft Entra ID. What an upstream says of a token for another audience is a cause for operators, because no other
 * token of the credential cures it.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { MOST_SHORT_BYTES, PassingAnswer } from './passing-answer.ts'

type Controller = Dispatcher.DispatchController

const AUDIENCE = /audience/i
const WRONG_AUDIENCE = 'the token is for another audience: `scope` of the credential has to be what the upstream names'

/** Stands between a connection and its attempt, which hears of a 401 when it is known what that says. */
export class EntraAnswer extends PassingAnswer {
  /** A refusal that is read to its end; null = it is none. */
  #refusal: { headers: IncomingHttpHeaders; parts: Buffer[]; bytes: number } | null = null

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status === 401) this.#refusal = { headers, parts: [], bytes: 0 }
    else this.attempt.onResponseStart(controller, status, headers)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const refusal = this.#refusal
    if (refusal === null) {
      this.attempt.onResponseData(controller, chunk)
      return
    }
    refusal.parts.push(chunk)
    refusal.bytes += chunk.length
    if (refusal.bytes > MOST_SHORT_BYTES) controller.abort(new Error('an answer without end'))
  }

  onResponseEnd(controller: Controller): void {
    const refusal = this.#refusal
    if (refusal !== null) {
      const body = Buffer.concat(refusal.parts)
      const said = `${body.toString('latin1')} ${refusal.headers['www-authenticate'] ?? ''}`
      if (AUDIENCE.test(said)) this.attempt.explain(WRONG_AUDIENCE)
      this.attempt.onResponseStart(controller, 401, refusal.headers)
      this.attempt.onResponseData(controller, body)
    }
    this.attempt.onResponseEnd()
  }
}
