/** What a relay hears of the upstreams that are asked for it. `Attempts` calls these, and the relay has them. */
import type { ErrorName } from '../../base/errors.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { GivenUp } from './attempt-row.ts'

/** Receives the one answer that counts, of all that upstreams give. */
export interface AnswerEvents {
  /** An upstream is being asked; whatever an earlier one said is void. */
  onAsked(): void
  /** An attempt is over, and its answer does not count. */
  onGivenUp(givenUp: GivenUp): void
  onHead(attempt: Attempt): void
  onData(chunk: Buffer): void
  onEnd(): void
  /** The answer broke off after its first byte. */
  onBroken(): void
  /** No upstream gave an answer, and none is left to ask. */
  onNoAnswer(name: ErrorName): void
  /** A byte of the answer has come, so no other can take its place unless it proves to be no answer. */
  readonly began: boolean
  /** The client is there and has seen nothing of this answer, so that another one may take its place. */
  readonly open: boolean
}
