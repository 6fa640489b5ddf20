/** Every protocol that the simulator speaks, a line each: the name of the export is the name of the protocol. */
export { chat } from './chat.ts'
export { embeddings } from './embeddings.ts'
export { generate } from './generate.ts'
export { images } from './images.ts'
export { messages } from './messages.ts'
export { moderations } from './moderations.ts'
export { rerank } from './rerank.ts'
export { responses } from './responses.ts'
