/**
 * The rows of the admin API, docs/admin.md and the OpenAPI document say the same: each call that there is, no other, and with
 * its statuses. `../support.ts` compares every answer of these tests with its row.
 */
import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { methodOf, pathOf } from '../../lib/api/operation.ts'
import { routesOf } from '../../lib/api/visit.ts'
import { ADMIN_CALLS } from '../../lib/admin/rows.ts'
import { openOps } from './support.ts'

const page = readFileSync(new URL('../../docs/admin.md', import.meta.url), 'utf8')

/** Whatever the parameters are called. */
const named = (path: string): string => path.replace(/\{\w+\}/g, '*')

const listed = [...page.matchAll(/^\| `([A-Z]+) (\S+)` \|.*\| (.*) \|$/gm)].map(([, method, path, answer]) => ({
  method: method!,
  path: path!,
  statuses: [...answer!.matchAll(/\b(20\d|410)\b/g)].map(found => found[1]),
}))

t.test('the page lists every call, and no other', async t => {
  t.ok(listed.length > 30)
  t.same(
    listed.map(({ method, path, statuses }) => `${method} ${named(path)} ${statuses.join(' ')}`).sort(),
    ADMIN_CALLS.map(row => {
      const { status, also = [] } = row.answer
      return `${methodOf(row)} /admin${named(pathOf(row))} ${[status, ...also].join(' ')}`
    }).sort(),
  )
})

t.test('every call of the page leads to its own row', async t => {
  const routes = routesOf('/admin', ADMIN_CALLS)
  const found = listed.map(({ method, path }) => {
    const match = routes.find(method, path.replace(/\{\w+\}/g, '7'))
    return match === null || Array.isArray(match) ? `nothing: ${method} ${path}` : match.row.id
  })
  t.same(found.sort(), ADMIN_CALLS.map(({ id }) => id).sort())
})

t.test('the document is a valid one of OpenAPI 3.1 with every call', async t => {
  const ops = await openOps(t)
  const { status, json } = await ops.admin('GET', '/admin/openapi.json')
  t.equal(status, 200)
  const result = await new Validator().validate(structuredClone(json))
  t.ok(result.valid, JSON.stringify(result.errors))
  const paths = json['paths'] as Record<string, Record<string, Record<string, unknown>>>
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
  )
  t.same(calls.sort(), ADMIN_CALLS.map(({ call }) => call).sort())
  t.match(paths['/accounts/{name}/topups']!['post'], {
    operationId: 'entries.topUp',
    security: [{ token: [] }],
    requestBody: { required: true },
    responses: { 200: {}, 201: {}, 400: {}, 401: {}, 404: {}, 409: {} },
  })
  t.equal((await ops.call('GET', '/admin/openapi.json')).status, 401)
})

t.test('which version answers', async t => {
  const ops = await openOps(t)
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  t.match(await ops.admin('GET', '/admin/version'), { status: 200, json: { version, node: process.version } })
})
