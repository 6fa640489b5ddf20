/** Errors in the form that chat completions and responses share. */
import type { Failure, FailureKind } from './failure.ts'
import { literal, type Source } from './json/literal.ts'
import { object } from './json/write.ts'
import type { WrittenError } from './protocol.ts'

const WORDS: Readonly<Record<FailureKind, readonly [type: string, code: string | null]>> = {
  invalid: ['invalid_request_error', null],
  context: ['invalid_request_error', 'context_length_exceeded'],
  not_found: ['invalid_request_error', 'model_not_found'],
  too_large: ['invalid_request_error', null],
  timeout: ['timeout', null],
  rate: ['rate_limit_error', 'rate_limit_exceeded'],
  quota: ['insufficient_quota', 'insufficient_quota'],
  overloaded: ['server_error', 'server_is_overloaded'],
  server: ['server_error', null],
}

/** The word by which clients know the failure; null = there is none. */
export const codeOf = ({ kind }: Failure): string | null => WORDS[kind][1]

export function errorObject(failure: Failure): Source {
  const code = codeOf(failure)
  const error = {
    message: literal(failure.message),
    type: `"${WORDS[failure.kind][0]}"`,
    param: 'null',
    code: code === null ? 'null' : `"${code}"`,
  }
  return object({ error: object(error) })
}

/** 529 is another protocol's own status. */
export const writeError = (failure: Failure): WrittenError => ({
  status: failure.status === 529 ? 503 : failure.status,
  body: errorObject(failure),
})
