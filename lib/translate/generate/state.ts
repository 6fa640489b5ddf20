/** State of models that want some with every call. */
import type { Literal } from '../json/literal.ts'
import type { Target } from '../protocol.ts'

/** Stands where a call has no state, because it was made by another model. Its provider documents it. */
export const NO_STATE: Literal = '"skip_thought_signature_validator"'

const THIRD = /gemini-(?:[3-9]|\d\d)/

/** The third generation and later: calls have state, results may have media, and thinking has levels. */
export const isThird = ({ thinking, model }: Target): boolean => thinking === 'level' || THIRD.test(model)
