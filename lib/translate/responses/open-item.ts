/** An item of a stream while it is written, and the words of the events that belong to its form. */
import type { Opaque } from '../ask.ts'
import type { CallHead, Citation } from '../events.ts'
import { ObjectCheck } from '../json/check.ts'
import { EMPTY, type Literal, type Source } from '../json/literal.ts'
import { typed } from '../json/write.ts'
import { Pieces } from '../pieces.ts'
import { callItem, contentOf, type ItemStatus, messageItem, thoughtItem } from './words.ts'

export type Form = 'text' | 'thought' | 'refusal' | 'call' | 'custom'

interface Words {
  /** How the names of the events of its text begin. */
  events: string
  /** The same of the events of its part; null = it has no parts. */
  part: string | null
  /** Which part it is: all have one. */
  at: string
  /** The member that has the whole text. */
  whole: string
  /** More members of the events of its text. */
  more: string
}

const CONTENT = { part: 'response.content_part', at: ',"content_index":0' } as const
const NO_PART = { part: null, at: '', more: '' } as const

export const WORDS: Readonly<Record<Form, Words>> = {
  text: { events: 'response.output_text', ...CONTENT, whole: 'text', more: ',"logprobs":[]' },
  refusal: { events: 'response.refusal', ...CONTENT, whole: 'refusal', more: '' },
  thought: {
    events: 'response.reasoning_summary_text',
    part: 'response.reasoning_summary_part',
    at: ',"summary_index":0',
    whole: 'text',
    more: '',
  },
  call: { events: 'response.function_call_arguments', ...NO_PART, whole: 'arguments' },
  custom: { events: 'response.custom_tool_call_input', ...NO_PART, whole: 'input' },
}

export interface Item {
  kind: 'text' | 'thought' | 'refusal' | 'call'
  form: Form
  call: CallHead | null
  /** In the output; -1 = it has not begun. */
  place: number
  id: Literal
  /** The members by which its events name it. */
  head: string
  /** How the events of its text begin, and what stands before a piece of it. */
  delta: { start: string; before: string }
  pieces: Pieces
  /** Of functions: whether the arguments are whole. */
  check: ObjectCheck | null
  opaque: Opaque | null
  notes: Citation[]
}

export const newItem = (kind: Item['kind'], call: CallHead | null): Item => ({
  kind,
  form: call?.freeform ? 'custom' : kind,
  call,
  place: -1,
  id: EMPTY,
  head: '',
  delta: { start: '', before: '' },
  pieces: new Pieces(),
  check: call === null || call.freeform ? null : new ObjectCheck(),
  opaque: null,
  notes: [],
})

export const partOf = ({ form, notes }: Item, text: Literal): Source =>
  form === 'text' || form === 'refusal' ? contentOf(form, text, notes) : typed('summary_text', { text })

/** The item with the text that it has come to. */
export function itemOf({ kind, id, call, opaque, notes }: Item, status: ItemStatus, text: Literal): Source {
  if (call !== null) return callItem(id, call, text, status)
  if (kind === 'thought') return thoughtItem(id, text, opaque)
  const content = status === 'in_progress' ? [] : [contentOf(kind === 'refusal' ? kind : 'text', text, notes)]
  return messageItem(id, content, status)
}
