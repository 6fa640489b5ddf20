/** The protocols that are translated, by name. */
import { translated } from '../../../lib/translate/table.ts'

export const messages = translated('messages')
export const chat = translated('chat')
export const responses = translated('responses')
export const generate = translated('generate')
