/** JSON Schemas of what calls take and give, as an OpenAPI document wants them. */
import { z } from 'zod'

export type Json = Record<string, unknown>

const OF_ZOD = '#/$defs/'
const OF_DOCUMENT = '#/components/schemas/'

/** Collects the schemas that have a name of their own (`.meta({ id })`), which others refer to. */
export class Schemas {
  readonly named: Record<string, Json> = {}

  /** `io`: a form as callers write it, or as they get it. */
  of(schema: z.ZodType, io: 'input' | 'output'): Json {
    const { $schema: _, $defs, ...own } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy }) as Json
    for (const [name, found] of Object.entries(($defs ?? {}) as Record<string, Json>)) this.#add(name, moved(found))
    return moved(own)
  }

  /** The fields of an object, each with its schema. */
  fields(schema: z.ZodType): { name: string; schema: Json; required: boolean }[] {
    const form = this.#resolved(this.of(schema, 'input'))
    const required = (form['required'] ?? []) as string[]
    return Object.entries((form['properties'] ?? {}) as Record<string, Json>).map(([name, schema]) => ({
      name,
      schema,
      required: required.includes(name),
    }))
  }

  #add(name: string, schema: Json): void {
    const before = this.named[name]
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(schema))
      throw new Error(`two forms have the name ${name}`)
    this.named[name] = schema
  }

  #resolved(schema: Json): Json {
    const name = String(schema['$ref'] ?? '').slice(OF_DOCUMENT.length)
    return this.named[name] ?? schema
  }
}

/** Takes out what zod adds and nobody needs to read: the bounds of exact integers, and patterns of known formats. */
function tidy({ jsonSchema }: { jsonSchema: Json }): void {
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum']
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum']
  if (jsonSchema['format'] !== undefined) delete jsonSchema['pattern']
}

/** The same schema, with references to where the document keeps named ones. */
function moved(value: unknown): Json {
  if (Array.isArray(value)) return value.map(moved) as unknown as Json
  if (typeof value !== 'object' || value === null) return value as Json
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' ? inner.replace(OF_ZOD, OF_DOCUMENT) : moved(inner),
    ]),
  )
}
