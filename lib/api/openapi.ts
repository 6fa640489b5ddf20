/** Makes the OpenAPI document of an API from the rows of its calls. */
import { z } from 'zod'
import { methodOf, type Operation, pathOf } from './operation.ts'

type Json = Record<string, unknown>

/** A row as far as the document tells it: all of it but how it runs. */
export type Described = Omit<Operation, 'run'>

interface DocumentParts {
  title: string
  description: string
  /** The path below which all calls stand. */
  root: string
  /** The name of the cookie of a session; null = all calls are made with the admin token. */
  cookie: string | null
}

const FIELD = z.strictObject({ field: z.string(), expected: z.string() })

/** The envelope of every error. Some errors say more, each in a member of its own. */
export const errorBody = z
  .strictObject({
    error: z.looseObject({
      code: z.string().meta({ description: 'What pages and programs act on.' }),
      message: z.string().meta({ description: 'For people, in the language of the call, with the id of the request.' }),
      type: z.string(),
      fields: z.array(FIELD).optional().meta({ description: 'The fields that are wrong.' }),
    }),
  })
  .meta({ id: 'Error' })

const MEANINGS: Record<number, string> = {
  400: 'The path, the query or the body is wrong.',
  401: 'Nobody is signed in.',
  403: 'The caller may not do this, or the request comes from another site.',
  404: 'There is no such thing, or it is not for this caller.',
  405: 'The call does not exist with this method.',
  408: 'The body did not come in time.',
  409: 'Something else stands against it.',
  410: 'It was there, and has ended.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'It cannot be done.',
  429: 'Too many calls.',
  500: 'The gateway failed.',
  503: 'Not available at the moment.',
}

/** Makes the document. Throws when two different schemas have one name. */
export function openApi(rows: readonly Described[], { title, description, root, cookie }: DocumentParts): Json {
  const schemas = new Schemas()
  const paths: Record<string, Json> = {}
  for (const row of rows)
    (paths[pathOf(row)] ??= {})[methodOf(row).toLowerCase()] = describe(row, schemas, cookie !== null)
  const error = schemas.of(errorBody, 'output')
  return {
    openapi: '3.1.0',
    info: { title, description, version: '1' },
    servers: [{ url: root }],
    tags: [...new Set(rows.map(tagOf))].map(name => ({ name })),
    paths,
    components: {
      schemas: schemas.named,
      responses: Object.fromEntries(
        Object.entries(MEANINGS).map(([status, description]) => [
          `Error${status}`,
          { description, headers: HEADERS, content: { 'application/json': { schema: error } } },
        ]),
      ),
      securitySchemes: cookie === null ? { token: ADMIN_TOKEN } : { session: session(cookie), token: PERSONAL_TOKEN },
    },
  }
}

const ADMIN_TOKEN: Json = { type: 'http', scheme: 'bearer', description: '`admin_token` of the config.' }
const PERSONAL_TOKEN: Json = {
  type: 'http',
  scheme: 'bearer',
  description: 'A personal token, which begins with gwp_.',
}
const session = (name: string): Json => ({
  type: 'apiKey',
  in: 'cookie',
  name,
  description: 'The session of somebody who signed in.',
})

const tagOf = ({ id }: Pick<Described, 'id'>): string => id.slice(0, id.indexOf('.'))

const HEADERS: Json = {
  'x-request-id': { description: 'The id of the request.', schema: { type: 'string' } },
}

function describe(row: Described, schemas: Schemas, isForPeople: boolean): Json {
  const done = success(row, schemas)
  const answers = [row.answer.status, ...(row.answer.also ?? [])]
  return {
    operationId: row.id,
    tags: [tagOf(row)],
    summary: row.summary,
    ...(isForPeople ? { description: rules(row), security: security(row) } : { security: [{ token: [] }] }),
    parameters: [...pathParameters(row, schemas), ...queryParameters(row, schemas)],
    ...requestBody(row, schemas),
    responses: {
      ...Object.fromEntries(answers.map(status => [status, done])),
      ...Object.fromEntries(
        refusals(row, isForPeople).map(status => [status, { $ref: `#/components/responses/Error${status}` }]),
      ),
    },
  }
}

function rules({ who, effect, stepUp, viewAs, scope }: Described): string {
  const members = typeof who === 'string' ? null : who.join(', ')
  const callers =
    members !== null
      ? `Members of the account with the role ${members}.`
      : { anyone: 'Anyone.', user: 'Whoever is signed in.', operator: 'Operators.' }[who as 'anyone']
  return [
    callers,
    members !== null && effect === 'read' && viewAs !== false ? 'Operators may read it in their place.' : '',
    effect === 'danger' ? 'What it changes cannot be taken back, or decides who gets in.' : '',
    stepUp ? 'The password or a second factor must have been given in the last ten minutes (403 `step_up`).' : '',
    scope === null ? 'Not with a token.' : `With a token of the scope ${scope}.`,
  ]
    .filter(line => line !== '')
    .join(' ')
}

function security({ who, scope }: Described): Json[] {
  if (who === 'anyone') return [{}]
  return [{ session: [] }, ...(scope === null ? [] : [{ token: [] }])]
}

function pathParameters(row: Described, schemas: Schemas): Json[] {
  const forms = new Map((row.path === undefined ? [] : schemas.fields(row.path)).map(one => [one.name, one.schema]))
  return [...pathOf(row).matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: forms.get(name) ?? { type: 'string' },
  }))
}

function queryParameters({ query }: Described, schemas: Schemas): Json[] {
  if (query === undefined) return []
  return schemas.fields(query).map(({ name, schema, required }) => ({ name, in: 'query', required, schema }))
}

function requestBody({ body }: Described, schemas: Schemas): Json {
  if (body === undefined) return {}
  const required = !body.safeParse({}).success // no body counts as an empty object
  return { requestBody: { required, content: { 'application/json': { schema: schemas.of(body, 'input') } } } }
}

function success({ answer: { status, body, types = [], live } }: Described, schemas: Schemas): Json {
  const headers = {
    ...HEADERS,
    ...(status === 303 ? { location: { description: 'Where to go.', schema: { type: 'string' } } } : {}),
  }
  if (body === null) return { description: 'Done.', headers }
  const files = Object.fromEntries(types.map(type => [type, { schema: { type: 'string' } }]))
  if (body === 'handed over')
    return { description: "What the models' API answers, with its own errors.", headers: HEADERS }
  if (body === 'stream') return { description: live ? 'Events.' : 'A file.', headers, content: files }
  const content = { 'application/json': { schema: schemas.of(body, 'output') }, ...files }
  return { description: 'Done.', headers, content }
}

/** The statuses of refusals: those of every call, those that follow from the row, and those that it names. */
export function refusals(row: Described, isForPeople = true): number[] {
  const isMissable = row.call.includes('{') ? [404] : []
  const own = [...isMissable, ...(row.refuses ?? [])]
  const statuses = isForPeople
    ? [
        ...[400, 403, 429, 500, 503],
        ...(row.who === 'anyone' ? [] : [401]),
        ...(methodOf(row) === 'GET' ? [] : [408, 413, 415]),
        ...own,
      ]
    : [...[400, 401, 413, 429, 500, 503], ...own]
  return [...new Set(statuses)].sort((a, b) => a - b)
}

const OF_ZOD = '#/$defs/'
const OF_DOCUMENT = '#/components/schemas/'

/**
 * Makes JSON Schemas of what calls take and give, and collects those that have a name of their own (`.meta({ id })`), to which others
 * refer.
 */
export class Schemas {
  readonly named: Record<string, Json> = {}

  /** `io`: a form as callers write it, or as they get it. */
  of(schema: z.ZodType, io: 'input' | 'output'): Json {
    const { $schema: _, $defs, ...own } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy }) as Json
    for (const [name, found] of Object.entries(($defs ?? {}) as Record<string, Json>)) this.#add(name, moved(found))
    return moved(own)
  }

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

/** The schema with its references pointing to where the document keeps named schemas. */
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
