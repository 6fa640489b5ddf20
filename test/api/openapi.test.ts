import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { z } from 'zod'
import { openApi, refusals } from '../../lib/api/openapi.ts'
import { operation } from '../../lib/api/operation.ts'
import * as kind from '../../lib/config/scalars.ts'

const Thing = z
  .strictObject({ id: z.string(), count: z.int(), at: z.iso.datetime(), cost: z.string().nullable() })
  .meta({ id: 'Thing', description: 'A thing.' })

const run = async () => ({})
const parts = { title: 'T', description: 'D', root: '/console', cookie: 'session' }

const ROWS = [
  operation({
    id: 'things.list',
    call: 'GET /accounts/{account}/things',
    summary: 'Lists things.',
    who: ['owner', 'viewer'],
    effect: 'read',
    scope: 'read',
    query: z.strictObject({ limit: kind.whole(1, 100).prefault(50), after: z.string().optional(), q: kind.name }),
    answer: { status: 200, body: z.strictObject({ data: z.array(Thing), next: z.string().nullable() }) },
    run,
  }),
  operation({
    id: 'things.create',
    call: 'POST /accounts/{account}/things',
    summary: 'Makes a thing.',
    who: ['owner'],
    effect: 'danger',
    scope: null,
    stepUp: true,
    body: z.strictObject({ name: kind.name, until: kind.time.nullable().optional() }),
    answer: { status: 201, body: Thing },
    refuses: [409, 422],
    run,
  }),
  operation({
    id: 'things.export',
    call: 'GET /things.csv',
    summary: 'All things as a file.',
    who: 'operator',
    effect: 'read',
    scope: 'operator',
    answer: { status: 200, body: 'stream', types: ['text/csv; charset=utf-8'] },
    run,
  }),
  operation({
    id: 'door.open',
    call: 'POST /door/{name}',
    at: 'root',
    summary: 'Opens a door.',
    who: 'anyone',
    effect: 'write',
    scope: null,
    path: z.object({ name: z.string().max(10) }),
    answer: { status: 204, body: null },
    run,
  }),
]

/** What stands in the document at a path of names. */
const at = (...steps: string[]): unknown =>
  steps.reduce<unknown>((node, step) => (node as Record<string, unknown>)[step], openApi(ROWS, parts))

t.test('the document is a valid one of OpenAPI 3.1', async t => {
  const result = await new Validator().validate(structuredClone(openApi(ROWS, parts)))
  t.ok(result.valid, JSON.stringify(result.errors))
  t.equal(at('openapi'), '3.1.0')
  t.notMatch(JSON.stringify(at()), /\$defs|\$schema/)
})

t.test('what a row says is in it', async t => {
  const things = ['paths', '/api/accounts/{account}/things']
  const json = ['content', 'application/json', 'schema']
  t.match(at(...things, 'get'), {
    operationId: 'things.list',
    tags: ['things'],
    summary: 'Lists things.',
    description:
      'Members of the account with the role owner, viewer. Operators may read it in their place. With a token of the scope read.',
    security: [{ session: [] }, { token: [] }],
    parameters: [
      { name: 'account', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'limit', in: 'query', required: false, schema: { minimum: 1, maximum: 100, default: 50 } },
      { name: 'after', in: 'query', required: false },
      { name: 'q', in: 'query', required: true },
    ],
  })
  t.same(at(...things, 'get', 'responses', '200', ...json, 'properties', 'data'), {
    type: 'array',
    items: { $ref: '#/components/schemas/Thing' },
  })
  const create = [...things, 'post']
  t.match(at(...create, 'requestBody'), {
    required: true,
    content: { 'application/json': { schema: { required: ['name'] } } },
  })
  t.same(at(...create, 'responses', '201', ...json), { $ref: '#/components/schemas/Thing' })
  t.same(at(...create, 'security'), [{ session: [] }])
  t.match(at(...create, 'description'), /403 `step_up`/)
  const file = at('paths', '/api/things.csv', 'get', 'responses', '200', 'content') as object
  t.same(Object.keys(file), ['text/csv; charset=utf-8'])
  t.match(at('paths', '/door/{name}', 'post'), {
    security: [{}],
    parameters: [{ name: 'name', schema: { maxLength: 10 } }],
  })
  t.same(at('components', 'schemas', 'Thing', 'properties'), {
    id: { type: 'string' },
    count: { type: 'integer' },
    at: { type: 'string', format: 'date-time' },
    cost: { type: ['string', 'null'] },
  })
})

t.test('statuses with which calls refuse', async t => {
  const [list, create, file, door] = ROWS
  t.same(refusals(list!), [400, 401, 403, 404, 429, 500, 503])
  t.same(refusals(create!), [400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503])
  t.same(refusals(file!), [400, 401, 403, 429, 500, 503])
  t.same(refusals(door!), [400, 403, 404, 408, 413, 415, 429, 500, 503])
})

t.test('two forms cannot have one name', async t => {
  const row = (id: string, body: z.ZodType) => ({
    ...ROWS[0]!,
    id,
    call: `GET /${id}` as const,
    answer: { status: 200 as const, body },
  })
  const text = () => z.strictObject({ same: z.string() }).meta({ id: 'Same' })
  const number = z.strictObject({ same: z.number() }).meta({ id: 'Same' })
  t.doesNotThrow(() => openApi([row('a.x', text()), row('b.x', text())], parts))
  t.throws(() => openApi([row('a.x', text()), row('b.x', number)], parts), { message: 'two forms have the name Same' })
})

t.test('a body that may be left out is not required', async t => {
  const one = z.strictObject({ one: z.string() })
  const row = (id: string, body: z.ZodType) => ({ ...ROWS[1]!, id, call: `POST /${id}` as const, body })
  const { paths } = openApi(
    [
      row('a.x', one),
      row('b.x', one.partial()),
      row('c.x', z.union([one, one.partial()])),
      row('d.x', z.union([one, one])),
    ],
    parts,
  ) as { paths: Record<string, { post: { requestBody: { required: boolean } } }> }
  t.same(
    ['a', 'b', 'c', 'd'].map(name => paths[`/api/${name}.x`]?.post.requestBody.required),
    [true, false, false, true],
  )
})
