/** Schemas as upstreams of generate-content take them. Agents send the same tools with every request, so that what was made is kept. */
import { digest } from '../ids.ts'
import type { Source } from '../json/literal.ts'
import { objectSchema } from '../schema.ts'
import { cleaned } from './schema-cleaner.ts'

const MOST_BYTES = 4 * 1024 * 1024
const ENTRY_BYTES = 200

/** By the hash of the source; what was made first goes first. */
const KEPT = new Map<string, Source>()
let keptBytes = 0

function cleanedOnce(schema: Source, field: string): Source {
  const key = digest(schema, 'base64url')
  const kept = KEPT.get(key)
  if (kept !== undefined) return kept
  const made = cleaned(schema, field)
  keptBytes += made.length + ENTRY_BYTES
  KEPT.set(key, made)
  for (const [oldest, source] of KEPT) {
    if (keptBytes <= MOST_BYTES) break
    keptBytes -= source.length + ENTRY_BYTES
    KEPT.delete(oldest)
  }
  return made
}

/** Objects of which nothing is said. */
const NOTHING = /^\{"type":"object"(?:,"additionalProperties":(?:true|false))?\}$/

/** The schema of a tool's arguments. null = it takes nothing. `changed`: what the schema allows is not quite the same. */
export function parametersOf(schema: Source | null, name: string): { schema: Source | null; changed: boolean } {
  if (schema === null) return { schema: null, changed: false }
  const whole = objectSchema(schema)
  const made = cleanedOnce(whole.schema, `tools.${name.replace(/[^\w.-]/g, '_')}`)
  return { schema: NOTHING.test(made) ? null : made, changed: whole.changed }
}

export const formatOf = (schema: Source): Source => cleanedOnce(schema, 'format')
