/** The names of what is summed of usage rows. `usage-tables.ts` has the tables. */

/** Counts that only the lines of a receipt tell apart, by the class of the line. */
export const LINE_CLASSES = {
  input_audio: 'input_audio',
  input_image: 'input_image',
  cache_read_audio: 'cache_read_audio',
  cache_read_image: 'cache_read_image',
  output_audio: 'output_audio',
  output_image: 'output_image',
  web_search: 'searches',
  second: 'seconds',
  character: 'characters',
} as const
/** Of tools of the upstream all pieces are one count, whatever they are: the lines tell them apart. */
export const TOOL_SUM = 'tool_calls'
export const LINE_SUMS = [...Object.values(LINE_CLASSES), TOOL_SUM] as const

/** Counts of a row. */
export const ROW_COUNTS = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'images'] as const

/** The sums that a report shows. They stand before those of the first byte, so that reading them skips the others. */
export const REPORTED_SUMS = ['requests', ...ROW_COUNTS, 'charge', 'cost', ...LINE_SUMS] as const
export type ReportedSum = (typeof REPORTED_SUMS)[number]

/** Upper bounds of the first eleven buckets of the time to the first byte, in ms; the twelfth has no bound. */
export const FIRST_BYTE_BOUNDS_MS = [100, 200, 400, 700, 1_000, 1_500, 2_500, 5_000, 10_000, 20_000, 60_000] as const
