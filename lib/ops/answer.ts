/**
 * Answers of the ops listener, and the two ways in which it refuses: by a row of the error table, or with a text of an
 * operation.
 */
import type { AnswerPieces } from '../api/operation.ts'
import { type ErrorName, renderError } from '../base/errors.ts'

export interface Answer {
  status: number
  /** The body: an object, which is sent as JSON, or a file; null = no body. */
  body: object | null
  /** A body of any length, instead of `body`: it is asked for the next piece when the caller has taken the last one. */
  stream?: { type: string; pieces: AnswerPieces }
}

/** A body that is not JSON. */
export class TextFile {
  readonly text: string
  readonly type: string

  constructor(text: string, type: string) {
    this.text = text
    this.type = type
  }
}

export const ok = (body: object): Answer => ({ status: 200, body })
export const created = (body: object): Answer => ({ status: 201, body })
/** The row that was asked for was there, and is deleted. */
export const gone = (body: object): Answer => ({ status: 410, body })
export const streamed = (type: string, pieces: AnswerPieces): Answer => ({
  status: 200,
  body: null,
  stream: { type, pieces },
})
export const NO_CONTENT: Answer = { status: 204, body: null }

/** Refuses with a row of the error table; `args` fill the row's text. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly row: ErrorName
  readonly args: string[]

  constructor(row: ErrorName, args: string[] = []) {
    super(row)
    this.row = row
    this.args = args
  }
}

export const renderRefusal = (refusal: Refusal, requestId: string, english: boolean): string =>
  renderError(refusal.row, refusal.args, requestId, english, false)
