import type { Protocol } from '../../terms/records.ts'
import type { Dialect } from '../speech.ts'
import { chat } from './chat.ts'
import { generate } from './generate.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const DIALECTS: Record<Protocol, Dialect> = { messages, chat, responses, images, generate }
