/**
 * Every protocol, a line each: the name under which a row is exported is the name of the protocol. All that a new one touches is a file
 * that exports a `ProtocolRow` (`protocol.ts`), as `chat.ts` does, and its line here.
 */
export { chat } from './chat.ts'
export { completions } from './completions.ts'
export { converse } from './converse.ts'
export { embeddings } from './embeddings.ts'
export { generate } from './generate.ts'
export { images } from './images.ts'
export { messages } from './messages.ts'
export { moderations } from './moderations.ts'
export { nativeEmbeddings } from './native-embeddings.ts'
export { rerank } from './rerank.ts'
export { responses } from './responses.ts'
export { speech } from './speech.ts'
export { transcriptions } from './transcriptions.ts'
