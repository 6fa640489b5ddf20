/**
 * The error with which an operation refuses. Its message is for people: it names the field that is wrong, never the
 * value.
 */

/**
 * `invalid`: the request is wrong in itself; `missing`: the row does not exist; `conflict`: another row stands against
 * it.
 */
export type OperationFault = 'invalid' | 'missing' | 'conflict'

export class OperationError extends Error {
  override name = 'OperationError'
  readonly fault: OperationFault
  /** What callers that are programs want to know beside the message. */
  readonly details: Record<string, string>

  constructor(fault: OperationFault, message: string, details: Record<string, string> = {}) {
    super(message)
    this.fault = fault
    this.details = details
  }
}
