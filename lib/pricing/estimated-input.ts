/**
 * Input tokens of a request, estimated from what its body says: what stands in the body, what the request only names or
 * lets tools of the upstream find, and how large the prompt may turn out to be.
 */
import type { Prompt } from '../protocols/prompt.ts'
import type { Model } from '../terms/records.ts'
import { MILLION } from './amount.ts'

const BYTES_PER_TOKEN = 4
/** No text has more tokens than one for so many bytes, for the choice of a price list. */
const FEWEST_BYTES_PER_TOKEN = 2
/** Input tokens for a second of sound: the most that any upstream counts. */
const TOKENS_PER_SECOND = 32
/** The most tokens of one class; the meter has the same bound. */
export const MOST_TOKENS = 1_000_000_000

/** Tokens of what the body carries itself. */
export const estimatedInput = (model: Model, prompt: Prompt): number =>
  Math.min(MOST_TOKENS, textTokens(model, prompt) + otherTokens(model, prompt))

/** Tokens of what the body carries, of what it only names, and of what tools may find. */
export const mostInput = (model: Model, prompt: Prompt): number =>
  Math.min(MOST_TOKENS, estimatedInput(model, prompt) + namedTokens(model, prompt))

/** The largest prompt that the body can turn out to be, which tells the price lists that the request can reach. */
export function largestPrompt(model: Model, prompt: Prompt): number {
  const text = Math.max(textTokens(model, prompt), Math.ceil(prompt.textBytes / FEWEST_BYTES_PER_TOKEN))
  return Math.min(MOST_TOKENS, text + otherTokens(model, prompt) + namedTokens(model, prompt))
}

const textTokens = ({ inputFactor }: Model, { textBytes }: Prompt): number =>
  Math.ceil((textBytes * inputFactor) / (BYTES_PER_TOKEN * MILLION))

/** Tokens of what the body carries beside text. */
function otherTokens({ mediaInput, maxInput }: Model, prompt: Prompt): number {
  const pages = Math.min(prompt.pages * mediaInput, prompt.documents * maxInput)
  const sound = Math.min(prompt.soundS * TOKENS_PER_SECOND, prompt.sounds * maxInput)
  return prompt.tokens + prompt.pictures * mediaInput + pages + sound
}

function namedTokens({ mediaInput, maxInput, toolInput, maxSearches }: Model, prompt: Prompt): number {
  const uses = prompt.toolUses + prompt.unlimitedTools * maxSearches
  return prompt.remotePictures * mediaInput + prompt.remoteDocuments * maxInput + uses * toolInput
}
