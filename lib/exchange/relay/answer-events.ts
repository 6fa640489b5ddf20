/** What a relay hears of the upstreams that are asked for it. */
import type { ErrorName } from '../../terms/errors.ts'
import type { Attempt } from '../../upstream/attempt.ts'

/** Receives the one answer that counts. */
export interface AnswerEvents {
  /** An upstream is being asked; whatever an earlier one said is void. */
  onAsked(): void
  onHead(attempt: Attempt): void
  onData(chunk: Buffer): void
  onEnd(): void
  /** It broke off after its first byte. */
  onBroken(): void
  /** No upstream gave an answer, and none is left to ask. */
  onNoAnswer(name: ErrorName): void
  /** A byte of the answer came, so that no other can take its place unless it proves to be none. */
  readonly began: boolean
  /** The client is there and has seen nothing that would bind us to this answer. */
  readonly open: boolean
}
