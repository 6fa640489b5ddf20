/** State of models that want some with every call. */
import { EMPTY, type Literal } from '../json/literal.ts'
import { issuerOf, seal64 } from '../opaque.ts'
import type { Target } from '../protocol.ts'

/** Stands where a call has no state, because it was made by another model. Its provider documents it. */
export const NO_STATE: Literal = '"skip_thought_signature_validator"'

/** Stands at a call of which the upstream had no state, so that the call can be told from one of a model that has some. */
export const EMPTY_STATE: Literal = seal64({ issuer: issuerOf('', ''), of: 'call', value: EMPTY })

const THIRD = /gemini-(?:[3-9]|\d\d)/

/** The third generation and later: calls have state, results may have media, and thinking has levels. */
export const isThird = ({ thinking, model }: Pick<Target, 'thinking' | 'model'>): boolean =>
  thinking === 'level' || THIRD.test(model)
