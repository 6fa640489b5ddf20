/** Every protocol, a row each. */
import type { Protocol } from '../terms/records.ts'
import { chat } from './chat.ts'
import { generate } from './generate.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import type { ProtocolRow } from './protocol.ts'
import { responses } from './responses.ts'

const TABLE: Record<Protocol, ProtocolRow> = { messages, chat, responses, images, generate }

export const protocolRow = (name: Protocol): ProtocolRow => TABLE[name]
