/** The ways in which an operation refuses. The message is for people and names the field, never its value. */

/** `invalid`: what was sent is wrong; `missing`: there is no such row; `conflict`: it contradicts what is there. */
export type OperationFault = 'invalid' | 'missing' | 'conflict'

export class OperationError extends Error {
  override name = 'OperationError'
  readonly fault: OperationFault

  constructor(fault: OperationFault, message: string) {
    super(message)
    this.fault = fault
  }
}
