/** A block of a stream while it is written, and the words of its events. */
import type { Opaque } from '../ask.ts'
import type { CallHead, OpenEvent } from '../events.ts'
import { ObjectCheck } from '../json/check.ts'
import { flat, type Literal, type Source } from '../json/literal.ts'
import { typed } from '../json/write.ts'
import { callMembers, leftOut } from './words.ts'

export interface Block {
  kind: OpenEvent['kind']
  call: CallHead | null
  /** Of calls: what tells whether the arguments are whole. */
  check: ObjectCheck | null
  /** What waits for the blocks before it. */
  waiting: (Literal | Opaque)[]
  /** Its start has been written. */
  started: boolean
  /** What stands before a piece of it, when it has started. */
  delta: string
  /** It has come to its end, as the reader says. */
  closed: boolean
}

/** What has no place here is a text that says so. */
export function newBlock(event: OpenEvent): Block {
  const call = event.kind === 'call' ? event.call : null
  return {
    kind: event.kind === 'media' ? 'text' : event.kind,
    call,
    check: call === null ? null : new ObjectCheck(),
    waiting: event.kind === 'media' ? [leftOut(event.mime)] : [],
    started: false,
    delta: '',
    closed: false,
  }
}

const TEXT = '{"type":"text","text":"","citations":null}'
export const THINKING = '{"type":"thinking","thinking":"","signature":""}'

/** The block as it begins. */
export function beginningOf({ kind, call }: Block): Source {
  if (call !== null) return typed('tool_use', callMembers(call, '{}'))
  return kind === 'thought' ? THINKING : TEXT
}

const DELTAS: Readonly<Record<OpenEvent['kind'], string>> = {
  text: '{"type":"text_delta","text":',
  refusal: '{"type":"text_delta","text":',
  media: '{"type":"text_delta","text":',
  thought: '{"type":"thinking_delta","thinking":',
  call: '{"type":"input_json_delta","partial_json":',
}

/** How an event with a piece of the block begins; behind the piece it ends with `DELTA_END`. */
export const deltaStart = ({ kind }: Block, index: number): string =>
  flat(`event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${DELTAS[kind]}`)
export const DELTA_END = '}}\n\n'

export const sizeOf = (piece: Literal | Opaque): number =>
  typeof piece === 'string' ? piece.length : piece.value.length
