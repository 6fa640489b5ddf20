/**
 * What the log says of calls. The log of actions has what was changed; these lines lead from it to the request, and tell
 * of callers who tried what they may not do.
 */
import type { Logger } from '../base/log.ts'
import { ApiError, type ApiErrorCode } from './errors.ts'
import type { StreamEnd } from './stream.ts'

/** A call as its lines name it. */
export interface Noted {
  /** Of the request. */
  id: string
  /** Of the row; absent where no row fits. */
  operation: string | undefined
  /** The public id; absent where nobody is signed in. */
  user: string | undefined
  ip: string
}

export const noteChange = (log: Logger, { id, operation, user }: Noted, status: number): void =>
  log.info({ id, operation, user, status }, 'console')

/** Refusals by which somebody is told what they may not do. Who is not signed in yet, or must prove it again, is no such case. */
const FORBIDDEN: ReadonlySet<ApiErrorCode> = new Set([
  'cross_origin',
  'token_refused',
  'session_only',
  'scope',
  'role',
  'view_as',
  'operators_only',
  'second_factor',
])

/** `missing` of somebody known is mostly an account that is not theirs. The bounds on calls bound these lines. */
export function noteForbidden(log: Logger, noted: Noted, error: unknown): void {
  if (!(error instanceof ApiError)) return
  const { code } = error
  if (FORBIDDEN.has(code) || (code === 'missing' && noted.user !== undefined))
    log.info({ ...noted, code }, 'a console request is not allowed')
}

/** Of an answer that was sent piece by piece and did not come to its end. */
export function noteEnd(log: Logger, { id, operation, user }: Noted, end: StreamEnd | ApiErrorCode): void {
  if (end !== 'complete') log.info({ id, operation, user, end }, 'a download ended early')
}
