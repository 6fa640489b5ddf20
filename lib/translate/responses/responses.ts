/** The responses protocol, as translation knows it. */
import { writeError } from '../error-object.ts'
import type { Translated } from '../protocol.ts'
import { answerReader } from './answer-reader.ts'
import { readAsk } from './ask-reader.ts'
import { writeAsk } from './ask-writer.ts'
import { DocumentWriter } from './document-writer.ts'
import { StreamWriter } from './stream-writer.ts'

export const responses: Translated = {
  readAsk,
  writeAsk,
  answerReader,
  answerWriter: options => (options.events ? new StreamWriter(options) : new DocumentWriter(options)),
  writeError,
}
