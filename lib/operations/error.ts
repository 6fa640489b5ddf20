/**
 * The error with which an operation refuses. Its message is for people: it names the field that is wrong, never the
 * value.
 */
import type { Language } from '../terms/people.ts'

/**
 * `invalid`: the request is wrong in itself; `missing`: the row does not exist; `conflict`: another row stands against
 * it; `forbidden`: this caller may not; `throttled`: too many tries, later again; `gone`: it was there, and has ended.
 */
export type OperationFault = 'invalid' | 'missing' | 'conflict' | 'forbidden' | 'throttled' | 'gone'

/** A text in every language that people may choose. */
export type Words = Record<Language, string>

export class OperationError extends Error {
  override name = 'OperationError'
  readonly fault: OperationFault
  /** What callers that are programs want to know beside the message. */
  readonly details: Record<string, string>

  /** The message in the other languages; null = it is said in English to everybody. */
  readonly words: Words | null

  /** `message`: a text in English alone is for calls that only operators make. */
  constructor(fault: OperationFault, message: string | Words, details: Record<string, string> = {}) {
    super(typeof message === 'string' ? message : message.en)
    this.words = typeof message === 'string' ? null : message
    this.fault = fault
    this.details = details
  }
}
