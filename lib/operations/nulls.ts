/**
 * A caller of the admin API writes `null` to leave a field empty; in a catalogue file the field is left out. The
 * schemas are those of the file, so nulls are dropped before a row is read.
 */
const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The fields that are not null. Maps among them (the prices of a model) lose their nulls too. */
export function withoutNulls(fields: Record<string, unknown> | undefined): Record<string, unknown> {
  const kept = Object.entries(fields ?? {}).filter(([, value]) => value !== null)
  return Object.fromEntries(kept.map(([name, value]) => [name, isMap(value) ? dropNulls(value) : value]))
}

const dropNulls = (map: Record<string, unknown>): object =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null))
