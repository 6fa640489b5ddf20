/** What stands between a connection and an attempt, where a kind of provider answers otherwise than the protocol says. */
import type { Dispatcher } from 'undici'
import type { AnswersOf } from '../protocols/kinds.ts'
import type { Attempt } from './attempt.ts'
import { BedrockAnswer } from './aws/bedrock-answer.ts'

const READERS: Record<AnswersOf, (attempt: Attempt, isCount: boolean) => Dispatcher.DispatchHandler> = {
  bedrock: (attempt, isCount) => new BedrockAnswer(attempt, isCount),
}

/** `isCount`: only tokens are counted. */
export const readerOf = (answers: AnswersOf, attempt: Attempt, isCount: boolean): Dispatcher.DispatchHandler =>
  READERS[answers](attempt, isCount)
