/** The reference of the models' API says what the gateway routes, no more and no less, and its OpenAPI document is one. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { apiCalls, modelOpenApi } from '../../lib/console/model-api.ts'
import { FORM_TEXTS, OWN_TEXTS } from '../../lib/console/model-api-texts.ts'
import { FORMS } from '../../lib/protocols/names.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { ERRORS } from '../../lib/base/errors.ts'
import { findTarget, MODEL_POSTS, POSTS, PUBLISHED } from '../../lib/exchange/paths.ts'
import { fill } from '../../web/shared/fill.ts'
import { KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { runPrograms } from './support/programs.ts'

const URLS = { main: 'https://api.example', direct: 'https://direct.example' }

t.test('every path that is routed is described, and every path that is described is routed', async t => {
  const req = { headers: { authorization: 'Bearer sk-x' } }
  for (const { method, path, endpoint } of PUBLISHED) {
    const asked = { method, path: path.replace('{model}', 'm'), query: '', req, world: { config: { wire: {} } } }
    t.equal(findTarget(asked as never)?.endpoint, endpoint, `${method} ${path}`)
  }
  const published = new Set(PUBLISHED.map(({ endpoint }) => endpoint))
  for (const { endpoint } of [...POSTS.whole.values(), ...MODEL_POSTS])
    t.ok(published.has(endpoint), endpoint.form ?? '')
  for (const form of FORMS) {
    const paths = protocolRow(form).client.paths.filter(({ action }) => action !== 'upgrade')
    t.same(Object.keys(FORM_TEXTS[form]?.paths ?? {}).sort(), paths.map(({ path }) => path).sort(), form)
  }
  const own = PUBLISHED.filter(({ endpoint }) => endpoint.form === null).map(({ method, path }) => `${method} ${path}`)
  t.same(Object.keys(OWN_TEXTS).sort(), own.sort())
  t.equal(new Set(apiCalls().map(({ id }) => id)).size, PUBLISHED.length, 'each has an anchor of its own')
})

t.test('parameters are those that bodies are read by, and texts are in both languages', async t => {
  for (const [form, { parameters, paths, charged }] of Object.entries(FORM_TEXTS))
    for (const { zh, en } of [...Object.values(paths), charged, ...parameters.map(({ what }) => what)])
      t.ok(/\p{Script=Han}|^(url|float|mp3|json|sse)/u.test(zh) && !/\p{Script=Han}/u.test(en), `${form}: ${en}`)
  const streamed = apiCalls()
    .filter(({ streams }) => streams)
    .map(({ path }) => path)
  t.ok(streamed.includes('/v1/messages') && streamed.includes('/v1beta/models/{model}:streamGenerateContent'))
  t.notOk(
    streamed.some(path => /count|input_tokens|embed|rerank|:generateContent|compact/.test(path)),
    streamed.join(' '),
  )
  t.same(
    apiCalls()
      .filter(({ protocol, charged }) => protocol !== null && charged === null)
      .map(({ path }) => path)
      .sort(),
    ['/v1/messages/count_tokens', '/v1/responses/input_tokens', '/v1beta/models/{model}:countTokens'],
    'counting is free',
  )
})

t.test('openapi: a valid document with every path and every error', async t => {
  const document = modelOpenApi('Model gateway', URLS)
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  t.ok(valid, JSON.stringify(errors))
  const { paths, servers, components } = document as {
    paths: Record<string, Record<string, { requestBody?: { content: object }; responses: object }>>
    servers: object[]
    components: { responses: Record<string, { description: string }> }
  }
  t.same(servers, [{ url: URLS.main }, { url: URLS.direct }])
  t.equal(Object.values(paths).flatMap(item => Object.keys(item)).length, PUBLISHED.length)
  const said = Object.values(components.responses)
    .map(({ description }) => description)
    .join(' ')
  for (const name of Object.keys(ERRORS)) t.ok(said.includes(`\`${name}\``), name)
  const types = (path: string) => Object.keys(paths[path]?.['post']?.requestBody?.content ?? {})
  t.same(types('/v1/audio/transcriptions'), ['multipart/form-data'])
  t.same(types('/v1/images/generations'), ['application/json', 'multipart/form-data'])
  t.same(types('/v1/chat/completions'), ['application/json'])
})

t.test('examples of the own paths run, and the document is served to everybody', async t => {
  const gateway = await openGateway()
  t.teardown(() => gateway.stop())
  const asked = await fetch(`${gateway.main}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await asked.text()
  const id = asked.headers.get('x-request-id') as string
  await gateway.usageRow({ request_id: id })
  const values = { base: gateway.main, key: KEY, model: 'beta-4.7', name: '' }
  const examples = apiCalls().filter(({ protocol, method }) => protocol === null && method === 'GET')
  const ran = await runPrograms(
    'sh',
    examples.map(({ examples: [one] }) =>
      fill(one?.text ?? '', 'sh', values)
        .replace('id=…', `id=${id}`)
        .replace('curl ', 'curl -sS --fail-with-body '),
    ),
  )
  for (const [i, { said, failed }] of ran.entries()) {
    t.equal(failed, null, `${examples[i]?.path} ${said}`)
    t.ok(Object.keys(JSON.parse(said) as object).length > 0, String(examples[i]?.path))
  }
  const reply = await fetch(`${gateway.main}/openapi.json`, { headers: { origin: 'https://elsewhere.example' } })
  t.match(reply.headers.get('content-type'), /^application\/json/)
  t.equal(reply.headers.get('access-control-allow-origin'), '*')
  t.match(await reply.json(), { openapi: '3.1.0', servers: [{ url: gateway.main }, { url: gateway.direct }] })
  const head = await fetch(`${gateway.main}/openapi.json`, { method: 'HEAD' })
  t.same([head.status, await head.text()], [200, ''])
})
