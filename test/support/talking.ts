/**
 * The protocols that talk: their requests and answers are JSON, and their answers can be event streams. Tests and benches
 * that hold for all such protocols, and have words for each, run over this list; a protocol of another kind is not in it.
 */
import type { Protocol } from '../../lib/protocols/names.ts'

export const TALKING = ['messages', 'chat', 'responses', 'images', 'generate'] as const satisfies readonly Protocol[]
export type Talking = (typeof TALKING)[number]
