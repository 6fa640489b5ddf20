/** Chat completions, as translation knows them. */
import type { Translated } from '../protocol.ts'
import { answerReader } from './answer-reader.ts'
import { readAsk } from './ask-reader.ts'
import { writeAsk } from './ask-writer.ts'
import { DocumentWriter } from './document-writer.ts'
import { StreamWriter } from './stream-writer.ts'
import { writeError } from '../error-object.ts'

export const chat: Translated = {
  readAsk,
  writeAsk,
  answerReader,
  answerWriter: options => (options.events ? new StreamWriter(options) : new DocumentWriter(options)),
  writeError,
}
