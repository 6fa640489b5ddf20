/**
 * The error with which an operation refuses. Its message is for people: it names the field that is wrong, never the
 * value.
 */
import { type StoreConflict, StoreFull } from '../store/base/errors.ts'
import type { Words } from '../base/people.ts'

export type { Words } from '../base/people.ts'

/**
 * `invalid`: the request is wrong in itself; `missing`: the row does not exist; `conflict`: another row stands against
 * it; `full`: there are as many as there may be, and one must go before another may come; `forbidden`: this caller may
 * not; `throttled`: too many tries, later again; `gone`: it was there, and has ended.
 */
export type OperationFault = 'invalid' | 'missing' | 'conflict' | 'full' | 'forbidden' | 'throttled' | 'gone'

/** A field of what was sent that is wrong, and what should stand there. */
export interface FieldFault {
  field: string
  expected: Words
}

export class OperationError extends Error {
  override name = 'OperationError'
  readonly fault: OperationFault
  /** What callers that are programs want to know beside the message. */
  readonly details: Record<string, string>

  /** The message in the other languages; null = it is said in English to everybody. */
  readonly words: Words | null
  /** The fields that are wrong, where the message is about fields. */
  readonly fields: readonly FieldFault[]

  /** `message`: a text in English alone is for calls that only operators make. */
  constructor(
    fault: OperationFault,
    message: string | Words,
    details: Record<string, string> = {},
    fields: readonly FieldFault[] = [],
  ) {
    super(typeof message === 'string' ? message : message.en)
    this.words = typeof message === 'string' ? null : message
    this.fault = fault
    this.details = details
    this.fields = fields
  }
}

/** A conflict that only the store could find, as the operation tells it. */
export const conflictOf = (error: StoreConflict): OperationError =>
  new OperationError(error instanceof StoreFull ? 'full' : 'conflict', error.words ?? error.message)

export const both = (zh: string, en: string): Words => ({ zh, en })

/** Who waits is told for how long, in seconds. */
export const throttled = (waitMs: number, { zh, en } = both('尝试次数过多', 'too many tries')): OperationError => {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new OperationError(
    'throttled',
    both(`${zh}，请在 ${seconds} 秒后重试`, `${en}: try again in ${seconds} seconds`),
    { retry_after: String(seconds) },
  )
}
