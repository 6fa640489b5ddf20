/** The messages protocol, as translation knows it. */
import type { Translated } from '../protocol.ts'
import { answerReader } from './answer-reader.ts'
import { DocumentWriter, StreamWriter, writeError } from './answer-writer.ts'
import { readAsk } from './request-reader.ts'
import { writeAsk } from './request-writer.ts'

export const messages: Translated = {
  readAsk,
  writeAsk,
  answerReader,
  answerWriter: options => (options.events ? new StreamWriter(options) : new DocumentWriter(options)),
  writeError,
}
