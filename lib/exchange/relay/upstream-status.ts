/**
 * What a status or an error of an attempt says: who is to blame for it, and whether another upstream may be asked. Beside it stand the
 * errors by which an attempt ends from our side.
 */
import type { AttemptOutcome } from '../../channels/health.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { CountAtKind } from '../../protocols/protocol.ts'
import { BadRequest, CredentialError } from '../../upstream/attempt.ts'

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

/** The client did nothing wrong, so the next candidate may be asked while nothing was relayed. */
export const retryable = (status: number): boolean =>
  status === 401 || status === 403 || status === 408 || status === 429 || status >= 500

/** The upstream does not say that the client's request is wrong: what it refuses in a form of its own (`own`) may be that form. */
export const couldNotCount = (status: number, own: CountAtKind | undefined): boolean =>
  retryable(status) || status === 404 || status === 405 || own?.body.envelope !== undefined

export const saysBusy = (status: number): boolean => status === 429 || status === 529
export const refusesKey = (status: number): boolean => status === 401 || status === 403

/** Errors that say that this machine has run out of something. */
const SPENT_HERE = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'])

/** The failure says nothing of the upstream: the request cannot be sent, this machine has no socket for it, or there is no money, or it does not fit. */
const isOurs = (error: Error): boolean =>
  error instanceof BadRequest ||
  error instanceof NoMoney ||
  error instanceof Unfit ||
  SPENT_HERE.has((error as NodeJS.ErrnoException).code ?? '')

/** An attempt without a status says this of its channel. */
export function outcomeOfError(error: Error): AttemptOutcome {
  if (error instanceof CredentialError) return 'auth'
  return isOurs(error) ? 'ignored' : 'failed'
}

/** The word for what is wrong with an answer that came; null = nothing that its upstream is to blame for. 0 = none came. */
export const faultOf = (status: number): string | null => {
  if (status > 0 && status < 300) return 'answer'
  return retryable(status) ? 'status' : null
}
