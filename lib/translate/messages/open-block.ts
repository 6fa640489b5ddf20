/** A block of a stream while it is written, and the words of its events. */
import type { Opaque } from '../ask.ts'
import type { CallHead, OpenEvent } from '../events.ts'
import { ObjectCheck } from '../json/check.ts'
import type { Literal, Source } from '../json/literal.ts'
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

export function deltaOf({ kind }: Block, piece: Literal): Source {
  if (kind === 'thought') return `{"type":"thinking_delta","thinking":${piece}}`
  if (kind === 'call') return `{"type":"input_json_delta","partial_json":${piece}}`
  return `{"type":"text_delta","text":${piece}}`
}

export const sizeOf = (piece: Literal | Opaque): number =>
  typeof piece === 'string' ? piece.length : piece.value.length
