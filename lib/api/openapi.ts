/** Makes the OpenAPI document of an API from the rows of its calls. */
import { z } from 'zod'
import { type Json, Schemas } from './json-schema.ts'
import type { Operation } from './operation.ts'
import { methodOf, pathOf } from './parts.ts'

/** What the document says of a row: all of it but how it runs. */
export type Described = Omit<Operation, 'run'>

export interface DocumentParts {
  title: string
  description: string
  /** The path below which all calls stand. */
  root: string
  /** The names of the session's cookie and of the scheme that shows it. */
  cookie: string
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

export function openApi(rows: readonly Described[], { title, description, root, cookie }: DocumentParts): Json {
  const schemas = new Schemas()
  const paths: Record<string, Json> = {}
  for (const row of rows) (paths[pathOf(row)] ??= {})[methodOf(row).toLowerCase()] = describe(row, schemas)
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
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: cookie, description: 'The session of somebody who signed in.' },
        token: { type: 'http', scheme: 'bearer', description: 'A personal token, which begins with gwp_.' },
      },
    },
  }
}

const tagOf = ({ id }: Pick<Described, 'id'>): string => id.slice(0, id.indexOf('.'))

const HEADERS: Json = {
  'x-request-id': { description: 'The id of the request.', schema: { type: 'string' } },
}

function describe(row: Described, schemas: Schemas): Json {
  return {
    operationId: row.id,
    tags: [tagOf(row)],
    summary: row.summary,
    description: rules(row),
    security: security(row),
    parameters: [...pathParameters(row, schemas), ...queryParameters(row, schemas)],
    ...requestBody(row, schemas),
    responses: {
      [row.answer.status]: success(row, schemas),
      ...Object.fromEntries(refusals(row).map(status => [status, { $ref: `#/components/responses/Error${status}` }])),
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

function success({ answer: { status, body, types = [] } }: Described, schemas: Schemas): Json {
  const headers = {
    ...HEADERS,
    ...(status === 303 ? { location: { description: 'Where to go.', schema: { type: 'string' } } } : {}),
  }
  if (body === null) return { description: 'Done.', headers }
  if (body !== 'stream')
    return { description: 'Done.', headers, content: { 'application/json': { schema: schemas.of(body, 'output') } } }
  const content = Object.fromEntries(types.map(type => [type, { schema: { type: 'string' } }]))
  return { description: 'A file.', headers, content }
}

/** What every call may be refused with, what follows from the row, and what it says of itself. */
export function refusals(row: Described): number[] {
  const writes = methodOf(row) !== 'GET'
  const statuses = [
    ...[400, 403, 429, 500, 503],
    ...(row.who === 'anyone' ? [] : [401]),
    ...(row.call.includes('{') ? [404] : []),
    ...(writes ? [408, 413, 415] : []),
    ...(row.refuses ?? []),
  ]
  return [...new Set(statuses)].sort((a, b) => a - b)
}
