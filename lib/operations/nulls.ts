/** `null` in a row clears a field, which is the same as leaving it out of the catalogue file. */
const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Without what is null, also one level further in (a single price). */
export function withoutNulls(fields: Record<string, unknown> | undefined): Record<string, unknown> {
  const kept = Object.entries(fields ?? {}).filter(([, value]) => value !== null)
  return Object.fromEntries(kept.map(([name, value]) => [name, isMap(value) ? dropNulls(value) : value]))
}

const dropNulls = (map: Record<string, unknown>): object =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null))
