/** What stands between a connection and an attempt, where a kind of provider answers otherwise than the protocol says. */
import type { Dispatcher } from 'undici'
import type { AnswersOf } from '../protocols/kinds.ts'
import type { Attempt } from './attempt.ts'
import { BedrockAnswer } from './aws/bedrock-answer.ts'

const READERS: Record<AnswersOf, (attempt: Attempt) => Dispatcher.DispatchHandler> = {
  bedrock: attempt => new BedrockAnswer(attempt),
}

export const readerOf = (answers: AnswersOf, attempt: Attempt): Dispatcher.DispatchHandler => READERS[answers](attempt)
