/** What goes wrong at an upstream, in words of no protocol. */

/**
 * The kinds of failure that clients tell apart. `context`: the prompt is longer than the model takes, which clients answer
 * by a shorter one.
 */
export type FailureKind =
  | 'invalid'
  | 'context'
  | 'not_found'
  | 'too_large'
  | 'timeout'
  | 'rate'
  | 'quota'
  | 'overloaded'
  | 'server'

export interface Failure {
  kind: FailureKind
  /** Of HTTP, as the client is told it. */
  status: number
  /** The upstream's own text. */
  message: string
}
