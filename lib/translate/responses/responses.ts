/** The responses protocol, as translation knows it. */
import { writeError } from '../openai.ts'
import type { Translated } from '../protocol.ts'
import { answerReader } from './answer-reader.ts'
import { DocumentWriter, StreamWriter } from './answer-writer.ts'
import { readAsk } from './request-reader.ts'
import { writeAsk } from './request-writer.ts'

export const responses: Translated = {
  readAsk,
  writeAsk,
  answerReader,
  answerWriter: options => (options.events ? new StreamWriter(options) : new DocumentWriter(options)),
  writeError,
}
