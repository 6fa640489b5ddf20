/**
 * The reference of the models' API and its OpenAPI document: the paths that the gateway routes, with what `model-api-texts.ts` says
 * of them, the errors of the table of errors, and the programs that clients are given.
 */
import { KeptBody } from '../base/encoding.ts'
import { ERRORS, type ErrorName } from '../base/errors.ts'
import type { Words } from '../base/people.ts'
import type { Config } from '../config/config.ts'
import { PUBLISHED, type PublishedPath } from '../exchange/paths.ts'
import { reasonWords } from '../operations/usage/words.ts'
import type { Protocol } from '../protocols/names.ts'
import type { Rate } from '../terms/records.ts'
import { CLIENTS } from './clients.ts'
import { ANSWERED_HEADERS, type ApiParameter, ASKED_HEADERS, FORM_TEXTS, OWN_TEXTS } from './model-api-texts.ts'
import type { RefusalMet } from './page-data.ts'
import type { Program } from './programs.ts'

export interface ApiCall {
  /** The anchor in the page, and the id in the document. */
  id: string
  method: string
  path: string
  title: Words
  /** null = the path belongs to no protocol. */
  protocol: Protocol | null
  /** Where a key may stand, as a header; the query parameter is `?key=`. */
  keys: readonly string[]
  query: readonly ApiParameter[]
  body: readonly ApiParameter[]
  streams: boolean
  /** null = a call costs nothing. */
  charged: Words | null
  /** Programs that make the call, those of curl first. */
  examples: readonly Pick<Program, 'title' | 'syntax' | 'text'>[]
}

const KEY_HEADERS = {
  bearer: 'authorization: Bearer',
  'x-api-key': 'x-api-key',
  gamma: 'x-goog-api-key',
  query: '?key=',
} as const

const idOf = (method: string, path: string): string =>
  `${method.toLowerCase()}${path.replaceAll(/[{}]/g, '').replaceAll(/\W+/g, '-')}`

/** The programs that ask on this path: a client makes them for the first path of a protocol. */
function examplesOf(protocol: Protocol, path: string): ApiCall['examples'] {
  const [first] = Object.keys(FORM_TEXTS[protocol]?.paths ?? {})
  if (first === undefined || !path.endsWith(first)) return []
  return [...CLIENTS]
    .sort((one, other) => Number(other.id === 'curl') - Number(one.id === 'curl'))
    .flatMap(({ snippets }) => snippets)
    .filter(({ protocols, frame, syntax }) => protocols?.includes(protocol) && (frame !== undefined || syntax === 'sh'))
    .map(({ title, syntax, text }) => ({ title, syntax, text }))
}

const ask = (path: string, query: readonly ApiParameter[]): ApiCall['examples'] => [
  {
    title: 'curl',
    syntax: 'sh',
    text: `curl '{base}${path.replace('{model}', '{step}')}${query.map(({ name }) => `?${name}=…`).join('')}' -H 'authorization: Bearer {key}'`,
  },
]

function callOf({ method, path, behind, endpoint, streams }: PublishedPath): ApiCall {
  const { form, action } = endpoint
  const common = { id: idOf(method, path), method, path, keys: endpoint.placements.map(place => KEY_HEADERS[place]) }
  if (form === null) {
    const text = OWN_TEXTS[`${method} ${path}`]
    if (text === undefined) throw new Error(`nothing is said of ${method} ${path}`)
    const { title, query, body } = text
    const examples = method === 'GET' ? ask(path, query) : []
    return { ...common, title, protocol: null, query, body, streams, charged: null, examples }
  }
  const said = FORM_TEXTS[form]
  const title = said?.paths[behind] ?? { zh: path, en: path }
  const isFree = action === 'count'
  const body = { query: [], body: said?.parameters ?? [], streams: streams && !isFree }
  return {
    ...common,
    ...body,
    title,
    protocol: form,
    charged: isFree ? null : (said?.charged ?? null),
    examples: examplesOf(form, path),
  }
}

let made: readonly ApiCall[] | null = null

export const apiCalls = (): readonly ApiCall[] => (made ??= PUBLISHED.map(callOf))

const ALL_REFUSALS: readonly RefusalMet[] = (Object.keys(ERRORS) as ErrorName[])
  .map(name => ({ name, status: ERRORS[name].status, ...reasonWords(name) }))
  .sort((one, other) => Number(other.status === 403) - Number(one.status === 403) || one.status - other.status)

/** The rules that are the same for all paths. `rate` null = unlimited. */
interface ApiLimits {
  bodyBytes: number
  rate: Rate | null
}

export interface ApiReferenceData {
  main: string
  direct: string
  calls: readonly ApiCall[]
  refusals: readonly RefusalMet[]
  asked: typeof ASKED_HEADERS
  answered: typeof ANSWERED_HEADERS
  limits: ApiLimits
}

type Said = Pick<Config, 'public' | 'limits'>

let latest: ApiReferenceData | null = null

/** Returns one object as long as what it says is equal, so that the page is written once. */
export function referenceOf({ public: { main, direct }, limits: { bodyBytes, rate } }: Said): ApiReferenceData {
  const limits = { bodyBytes, rate: rate.requests === 0 ? null : rate }
  const same = { main, direct, limits }
  if (
    latest === null ||
    JSON.stringify(same) !== JSON.stringify({ main: latest.main, direct: latest.direct, limits: latest.limits })
  )
    latest = { ...same, calls: apiCalls(), refusals: ALL_REFUSALS, asked: ASKED_HEADERS, answered: ANSWERED_HEADERS }
  return latest
}

// --- the OpenAPI document

type Json = Record<string, unknown>

const SECURITY: Record<string, [name: string, scheme: Json]> = {
  'authorization: Bearer': ['bearer', { type: 'http', scheme: 'bearer' }],
  'x-api-key': ['apiKeyHeader', { type: 'apiKey', in: 'header', name: 'x-api-key' }],
  'x-goog-api-key': ['googleHeader', { type: 'apiKey', in: 'header', name: 'x-goog-api-key' }],
  '?key=': ['keyParameter', { type: 'apiKey', in: 'query', name: 'key' }],
}

function schemaOf({ type, what }: ApiParameter): Json {
  const description = what.en
  if (type === 'file') return { type: 'string', format: 'binary', description }
  // an input may be a text or a list of them, and what is a text to us may be blocks to an upstream
  return type === 'array' || type === 'string' ? { description } : { type, description }
}

const objectOf = (parameters: readonly ApiParameter[]): Json => ({
  type: 'object',
  properties: Object.fromEntries(parameters.map(one => [one.name, schemaOf(one)])),
  required: parameters.filter(one => one.required).map(({ name }) => name),
  additionalProperties: true,
})

function pathItem(call: ApiCall): Json {
  const { id, method, path, title, protocol, keys, query, body, streams, charged } = call
  const parameters = [
    ...(path.includes('{model}') ? [{ name: 'model', in: 'path', required: true, schema: { type: 'string' } }] : []),
    ...query.map(one => ({ name: one.name, in: 'query', required: one.required, schema: schemaOf(one) })),
  ]
  const schema = objectOf(body)
  const files = body.filter(({ type }) => type === 'file')
  const types = [
    ...(files.some(({ required }) => required) ? [] : ['application/json']),
    ...(files.length > 0 ? ['multipart/form-data'] : []),
  ]
  const answers = ['application/json', ...(streams ? ['text/event-stream'] : [])]
  return {
    operationId: id,
    tags: [protocol ?? 'own'],
    summary: title.en,
    description: charged === null ? 'Free of charge.' : `Charged: ${charged.en}`,
    security: keys.map(place => ({ [(SECURITY[place] as [string, Json])[0]]: [] })),
    parameters,
    ...(method === 'POST' && {
      requestBody: { required: true, content: Object.fromEntries(types.map(type => [type, { schema }])) },
    }),
    responses: {
      200: {
        description: 'The answer.',
        headers: Object.fromEntries(
          ANSWERED_HEADERS.map(({ name, what }) => [name, { description: what.en, schema: { type: 'string' } }]),
        ),
        content: Object.fromEntries(answers.map(type => [type, { schema: {} }])),
      },
      ...Object.fromEntries(
        [...new Set(ALL_REFUSALS.map(({ status }) => status))].map(status => [
          status,
          { $ref: `#/components/responses/Error${status}` },
        ]),
      ),
    },
  }
}

const ERROR_SCHEMA: Json = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        message: { type: 'string' },
        type: { type: 'string' },
        code: { type: 'string' },
        param: { type: 'string' },
      },
      required: ['message', 'type', 'code'],
    },
  },
  required: ['error'],
}

export function modelOpenApi(title: string, { main, direct }: { main: string; direct: string }): Json {
  const paths: Record<string, Json> = {}
  for (const call of apiCalls()) (paths[call.path] ??= {})[call.method.toLowerCase()] = pathItem(call)
  const responses = Object.fromEntries(
    ALL_REFUSALS.map(({ status }) => {
      const reasons = ALL_REFUSALS.filter(one => one.status === status).map(({ name, why }) => `\`${name}\`: ${why.en}`)
      const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
      return [`Error${status}`, { description: reasons.join(' '), content }]
    }),
  )
  return {
    openapi: '3.1.0',
    info: {
      title,
      version: '1',
      description: 'Asks models. Parameters that are not named here pass to the upstream as they are.',
    },
    servers: [...new Set([main, direct])].map(url => ({ url })),
    tags: [...new Set(apiCalls().map(({ protocol }) => protocol ?? 'own'))].map(name => ({ name })),
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA },
      responses,
      securitySchemes: Object.fromEntries(Object.values(SECURITY)),
    },
  }
}

let sent: { as: string; body: KeptBody } | null = null

/** The document as text. Whoever asks for it, all the time and without a key, gets one that is made once. */
export function modelDocument(title: string, urls: { main: string; direct: string }): KeptBody {
  const as = JSON.stringify([title, urls.main, urls.direct])
  if (sent?.as !== as) sent = { as, body: new KeptBody(JSON.stringify(modelOpenApi(title, urls)), 'kept') }
  return sent.body
}
