/** Generate-content, as translation knows it. */
import type { Translated } from '../protocol.ts'
import { answerReader } from './answer-reader.ts'
import { readAsk } from './ask-reader.ts'
import { writeAsk } from './ask-writer.ts'
import { DocumentWriter } from './document-writer.ts'
import { StreamWriter } from './stream-writer.ts'
import { writeError } from './words.ts'

export const generate: Translated = {
  readAsk,
  writeAsk,
  answerReader,
  answerWriter: options => (options.events || options.array ? new StreamWriter(options) : new DocumentWriter(options)),
  writeError,
}
