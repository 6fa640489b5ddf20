/** What stands between a connection and the attempt that it serves: a handler that passes on all that its kinds do not read themselves. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Attempt } from './attempt.ts'

type Controller = Dispatcher.DispatchController

/** An error, or another short answer, that is longer is told as far as it has come, or not at all, and its connection is closed. */
export const MOST_SHORT_BYTES = 64 * 1024

export abstract class PassingAnswer implements Dispatcher.DispatchHandler {
  protected readonly attempt: Attempt

  constructor(attempt: Attempt) {
    this.attempt = attempt
  }

  onRequestStart(controller: Controller): void {
    this.attempt.onRequestStart(controller)
  }

  onRequestSent(): void {
    this.attempt.onRequestSent()
  }

  abstract onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void
  abstract onResponseData(controller: Controller, chunk: Buffer): void
  abstract onResponseEnd(controller: Controller): void

  onResponseError(controller: Controller | null, error: Error): void {
    this.attempt.onResponseError(controller, error)
  }
}

/** Tells an attempt a document of JSON that stands in the place of what came. */
export function tellJson(
  attempt: Attempt,
  controller: Controller,
  { status, headers, body }: { status: number; headers: IncomingHttpHeaders; body: Buffer },
): void {
  attempt.onResponseStart(controller, status, { ...withoutBytes(headers), 'content-type': 'application/json' })
  attempt.onResponseData(controller, body)
  attempt.onResponseEnd()
}

/** The headers without those that are about bytes which are told in another way. */
export function withoutBytes(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { 'content-length': _, 'content-encoding': __, 'transfer-encoding': ___, ...rest } = headers
  return rest
}
