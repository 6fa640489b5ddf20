/** The protocols that can be translated into each other: a row each. */
import type { Protocol } from '../protocols/table.ts'
import { chat } from './chat/chat.ts'
import { generate } from './generate/generate.ts'
import { NO_STATE, isThird } from './generate/members.ts'
import { messages } from './messages/messages.ts'
import type { StatePlace } from './opaque.ts'
import type { Translated } from './protocol.ts'
import { responses } from './responses/responses.ts'

export interface TranslatedRow {
  protocol: Translated
  /** For its clients: in which of the other protocols an upstream is asked rather. What loses least comes first. */
  via: readonly Protocol[]
  /** Where its clients keep state of upstreams. */
  state: readonly StatePlace[]
}

const AT_CALLS = { beside: ['functionCall', 'function_call'], word: NO_STATE, when: isThird }
const BLOCKS = { what: 'messages/*/content/*', around: 'messages/*' }

const ROWS: Partial<Readonly<Record<Protocol, TranslatedRow>>> = {
  messages: {
    protocol: messages,
    via: ['responses', 'generate', 'chat'],
    state: [
      { ...BLOCKS, state: 'signature' },
      { ...BLOCKS, state: 'data' },
    ],
  },
  chat: {
    protocol: chat,
    via: ['responses', 'messages', 'generate'],
    state: [
      { what: 'messages/*/reasoning_details/*', state: 'data' },
      { what: 'messages/*/tool_calls/*/extra_content', state: 'google/thought_signature' },
    ],
  },
  responses: {
    protocol: responses,
    via: ['messages', 'chat', 'generate'],
    state: [{ what: 'input/*', state: 'encrypted_content' }],
  },
  generate: {
    protocol: generate,
    via: ['messages', 'responses', 'chat'],
    // only the state goes: the part has a text or a call, too
    state: [
      { what: 'contents/*/parts/*/thoughtSignature', state: '', instead: AT_CALLS },
      { what: 'contents/*/parts/*/thought_signature', state: '', instead: AT_CALLS },
    ],
  },
}

export const TRANSLATED = Object.keys(ROWS) as readonly Protocol[]

/** undefined = the protocol is not translated. */
export const translatedRow = (protocol: Protocol): TranslatedRow | undefined => ROWS[protocol]

/** Of a protocol that is translated. */
export const translated = (protocol: Protocol): Translated => (ROWS[protocol] as TranslatedRow).protocol
