/** Why an attempt ends from our side. */
import type { ErrorName } from '../../base/errors.ts'

/** The gateway gave up on the upstream; not a fault of the connection. */
export class GaveUp extends Error {
  override name = 'GaveUp'
  readonly row: ErrorName
  readonly code: string

  constructor(row: ErrorName) {
    super(row)
    this.row = row
    this.code = row
  }
}

/** The account has not the money for what the candidate may cost, and another one may need less. */
export class NoMoney extends Error {
  override name = 'NoMoney'
  readonly code = 'money'
}

/** The request cannot be said to the candidate, which took a moment to find out. */
export class Unfit extends Error {
  override name = 'Unfit'
  readonly code = 'unfit'
}

/** The gateway has no room for what it must keep of the answer. */
export class NoMemory extends Error {
  override name = 'NoMemory'
  readonly code = 'memory'
}

export const silent = (): Error => new GaveUp('timeout')
