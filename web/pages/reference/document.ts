/** Reads an OpenAPI document: its calls, and the fields of what is sent and answered. */

export interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  format?: string
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  additionalProperties?: Schema | boolean
  minimum?: number
  maximum?: number
}

interface Content {
  content?: Record<string, { schema: Schema }>
}

interface Described {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: object[]
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: Content
  responses: Record<string, Content>
}

export interface Document {
  paths: Record<string, Record<string, Described>>
  components: { schemas: Record<string, Schema> }
}

export interface Field {
  name: string
  schema: Schema
  required: boolean
  description: string
}

export interface Call {
  id: string
  tag: string
  method: string
  /** Below `/console`. */
  path: string
  summary: string
  /** Who may make it, and how. */
  rules: string
  /** Whether nobody needs to be signed in. */
  open: boolean
  parameters: Field[]
  body: Schema | null
  /** The status of success. */
  status: string
  answer: Schema | null
  /** The statuses of refusals. */
  refusals: string[]
}

const schemaIn = ({ content }: Content = {}): Schema | null => Object.values(content ?? {})[0]?.schema ?? null

export const callsOf = ({ paths }: Document): Call[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, row]) => {
      const statuses = Object.keys(row.responses)
      const status = statuses.find(one => Number(one) < 400) ?? ''
      return {
        id: row.operationId,
        tag: row.tags[0] ?? '',
        method: method.toUpperCase(),
        path,
        summary: row.summary,
        rules: row.description,
        open: row.security.some(one => Object.keys(one).length === 0),
        parameters: row.parameters.map(({ name, schema, required }) => ({
          name,
          schema,
          required,
          description: schema.description ?? '',
        })),
        body: schemaIn(row.requestBody),
        status,
        answer: schemaIn(row.responses[status]),
        refusals: statuses.filter(one => one !== status),
      }
    }),
  )

/** The fields of a record that has no name of its own; one with a name is described elsewhere. */
export const fieldsOf = ({ properties, required = [] }: Schema): Field[] =>
  Object.entries(properties ?? {}).map(([name, schema]) => ({
    name,
    schema,
    required: required.includes(name),
    description: schema.description ?? '',
  }))

const recordOf = ({ $ref }: Schema): string | null => $ref?.slice($ref.lastIndexOf('/') + 1) ?? null

/** What a value is, in a few words, and the named record that it is or consists of. */
export function typeOf(schema: Schema): { text: string; record: string | null } {
  const name = recordOf(schema)
  if (name !== null) return { text: name, record: name }
  if (schema.anyOf !== undefined) {
    const parts = schema.anyOf.map(typeOf)
    return {
      text: [...new Set(parts.map(({ text }) => text))].join(' | '),
      record: parts.find(({ record }) => record !== null)?.record ?? null,
    }
  }
  if (schema.enum !== undefined) return { text: schema.enum.map(one => JSON.stringify(one)).join(' | '), record: null }
  if (schema.const !== undefined) return { text: JSON.stringify(schema.const), record: null }
  if (schema.items !== undefined) {
    const { text, record } = typeOf(schema.items)
    return { text: text.includes('|') ? `(${text})[]` : `${text}[]`, record }
  }
  const types = [schema.type ?? 'any'].flat().join(' | ')
  return { text: schema.format === undefined ? types : `${types} (${schema.format})`, record: null }
}

/** A body with every field that must be there, as an example. */
export const bodyOf = (schema: Schema): Record<string, unknown> =>
  Object.fromEntries(
    fieldsOf(schema)
      .filter(({ required }) => required)
      .map(({ name, schema: { enum: values, type } }) => [name, values?.[0] ?? (type === 'boolean' ? true : '…')]),
  )
