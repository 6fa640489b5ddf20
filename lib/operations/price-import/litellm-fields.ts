/** Which fields of LiteLLM's list are prices, and which of our prices they are. */
import type { Fee, TokenClass } from '../../terms/records.ts'

/** Fields with such names are about money. */
export const MONEY = /cost|pric|multiplier|uplift|provider_specific_entry/

/** Prices of one token in USD. */
export const TOKEN_FIELDS: Record<string, TokenClass> = {
  input_cost_per_token: 'input',
  input_cost_per_audio_token: 'input_audio',
  input_cost_per_image_token: 'input_image',
  cache_read_input_token_cost: 'cache_read',
  cache_read_input_audio_token_cost: 'cache_read_audio',
  cache_read_input_image_token_cost: 'cache_read_image',
  cache_creation_input_token_cost: 'cache_write_5m',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  output_cost_per_token: 'output',
  output_cost_per_audio_token: 'output_audio',
  output_cost_per_image_token: 'output_image',
}

/** A fee in models of these modes. In others the field means something else. */
const inModes =
  (fee: Fee, ...modes: string[]) =>
  (mode: string): Fee | undefined =>
    modes.includes(mode) ? fee : undefined

const SOUND = ['audio_transcription', 'audio_speech']

/** Prices of one piece in USD, by the model's `mode`. */
export const FEE_MODES: Record<string, (mode: string) => Fee | undefined> = {
  output_cost_per_image: () => 'image',
  // Of models that make pictures an older part of the list names a picture's price so; of others it is that of one sent.
  input_cost_per_image: inModes('image', 'image_generation', 'image_edit'),
  input_cost_per_request: () => 'request',
  input_cost_per_query: inModes('request', 'rerank'),
  input_cost_per_second: inModes('second', ...SOUND),
  output_cost_per_second: inModes('second', ...SOUND),
  input_cost_per_character: inModes('character', 'audio_speech'),
}
