/** The bodies of every protocol. */
import type { Protocol } from '../../terms/records.ts'
import type { Place } from '../places.ts'
import { chat } from './chat.ts'
import { generate } from './generate.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const BODIES: Record<Protocol, Place> = { messages, chat, responses, images, generate }
