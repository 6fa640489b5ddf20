/** What a caller is told when a call fails: by the table of errors, or in the words of the operation. */
import { conflictOf, OperationError } from '../operations/error.ts'
import { StoreConflict, StoreUnavailable } from '../store/store.ts'
import type { Language } from '../base/people.ts'
import { BodyFault } from './body.ts'
import type { Told } from './envelope.ts'
import { API_ERRORS, ApiError, type ApiErrorRow, STATUS_OF_FAULT } from './errors.ts'
import { asSentence } from './sentence.ts'

export interface Refusal {
  status: number
  told: Told
  /** Whole seconds. */
  retryAfterS: string | null
  /** It is a fault of ours, which the log must show. */
  isFault: boolean
}

/** `mostBody`: the bound on bodies, in words. */
export function refusalOf(error: unknown, language: Language, mostBody: string): Refusal {
  const refusal = phrased(error, language, mostBody)
  return { ...refusal, told: { ...refusal.told, message: asSentence(refusal.told.message) } }
}

function phrased(error: unknown, language: Language, mostBody: string): Refusal {
  if (error instanceof OperationError) return ofOperation(error, language)
  if (error instanceof StoreConflict) return ofOperation(conflictOf(error), language)
  if (error instanceof ApiError) return ofRow(error, language)
  if (error instanceof BodyFault) return ofRow(new ApiError(error.what, [mostBody]), language)
  if (error instanceof StoreUnavailable) return ofRow(new ApiError('unavailable'), language)
  return { ...ofRow(new ApiError('internal'), language), isFault: true }
}

function ofOperation({ fault, message, words, details, fields }: OperationError, language: Language): Refusal {
  const told = {
    code: fault,
    message: words?.[language] ?? message,
    details,
    fields: fields.map(({ field, expected }) => ({ field, expected: expected[language] })),
  }
  return { status: STATUS_OF_FAULT[fault], told, retryAfterS: details['retry_after'] ?? null, isFault: false }
}

function ofRow({ code, args, retryAfterS }: ApiError, language: Language): Refusal {
  const row: ApiErrorRow = API_ERRORS[code]
  const afterS = retryAfterS ?? row.retryAfterS
  return {
    status: row.status,
    told: { code, message: row.words(...args)[language] },
    retryAfterS: afterS === undefined ? null : String(afterS),
    isFault: false,
  }
}
