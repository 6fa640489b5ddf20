/**
 * Every path that the official SDKs ask for, found by calling each of their methods: it is served, or refused once with a 404 in the
 * SDK's own class. A newer SDK's new path fails here until it is decided.
 */
import { once } from 'node:events'
import http from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const SERVED = [
  'GET /v1/models',
  'GET /v1/models/ID1',
  'POST /v1/audio/speech',
  'POST /v1/audio/transcriptions',
  'POST /v1/audio/translations',
  'POST /v1/chat/completions',
  'POST /v1/completions',
  'POST /v1/embeddings',
  'POST /v1/images/edits',
  'POST /v1/images/generations',
  'POST /v1/images/variations',
  'POST /v1/messages',
  'POST /v1/messages/count_tokens',
  'POST /v1/moderations',
  'POST /v1/responses',
  'POST /v1/responses/compact',
  'POST /v1/responses/input_tokens',
  'POST /v1/models/ID1:batchEmbedContents',
  'POST /v1/models/ID1:countTokens',
  'POST /v1/models/ID1:generateContent',
  'POST /v1/models/ID1:streamGenerateContent',
]
/** What is stored at a provider, runs later or by itself, or administers its accounts: all of it is of an account that customers share. */
const REFUSED = [
  /^\w+ \/v1\/audio\/voice/,
  /^(?:DELETE|PATCH|POST) \/v1(?:beta)?\/models\/ID1$/,
  /^\w+ \/v1\/chat\/completions\/ID1/,
  /^(?:GET|DELETE) \/v1\/chat\/completions$/,
  /^\w+ \/v1\/responses\/ID1/,
  /^\w+ \/v1\/messages\/batches/,
  /^POST \/v1\/models\/ID1:(?!(?:batchEmbed|countTokens|embed|generate|streamGenerate))\w+$/,
  // what Google's methods for operations, files and batches are given here is no name of one
  /^\w+ \/v1(?:beta)?\/ID1(?::\w+)?$/,
  ...[
    'agents assistants batches chatkit containers content_provenance_checks conversations decisions deployment_runs deployments dreams',
    'environments evals files fine_tuning live memory_stores organization organizations projects realtime safety sessions skills threads',
    'tunnels uploads user_profiles vaults vector_stores videos webhook_endpoints webhook_event_types workspaces',
  ]
    .join(' ')
    .split(' ')
    .map(name => new RegExp(`^\\w+ /v1/${name}(?:/|$)`)),
  ...'auth_tokens batches cachedContents fileSearchStores files interactions agents webhooks tunedModels operations corpora'
    .split(' ')
    .map(name => new RegExp(`^\\w+ /(?:upload/)?v1(?:alpha|beta)?/${name}(?:[/:]|$)`)),
]

const seen = new Set<string>()
/** Notes what is asked for, and refuses it so that nothing more comes of it. */
const capture = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
  const request = input instanceof Request ? input : null
  const { pathname } = new URL(request?.url ?? String(input))
  seen.add(`${init?.method ?? request?.method ?? 'GET'} ${pathname}`)
  return new Response('{"error":{"message":"captured"}}', { status: 404, headers: { 'x-should-retry': 'false' } })
}

const FIELDS = {
  model: 'ID1',
  contents: 'x',
  name: 'ID1',
  config: {},
  messages: [],
  max_tokens: 5,
  input: 'x',
  prompt: 'x',
  thread_id: 'ID1',
  run_id: 'ID2',
  file: new File(['x'], 'x'),
}
const ARGUMENTS: unknown[][] = [['ID1', 'ID2', 'ID3', {}], [{}, {}], ['ID1', {}, {}], [FIELDS], ['ID1', FIELDS]]
const isResource = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && ('_client' in value || 'apiClient' in value)

/** Calls every method of a resource and of those below it. */
async function callAll(resource: object, visited: Set<object>): Promise<void> {
  if (visited.has(resource)) return
  visited.add(resource)
  const members = resource as Record<string, unknown>
  for (let type: object = resource; type !== Object.prototype; type = Object.getPrototypeOf(type)) {
    for (const name of Object.getOwnPropertyNames(type)) {
      if (name === 'constructor' || name.startsWith('_') || name === 'apiClient') continue
      const member = members[name]
      if (isResource(member)) await callAll(member, visited)
      // what polls, waits for something or goes on by itself asks at the paths of other methods
      if (
        typeof member !== 'function' ||
        /poll|wait|^stream|(?<!Content)Stream|runTools|toolRunner|connect|Internal$/i.test(name)
      )
        continue
      for (const args of ARGUMENTS) await called(() => member.apply(resource, args))
    }
  }
}

async function called(call: () => unknown): Promise<void> {
  try {
    const asked = Promise.resolve(call()).then(
      () => {},
      () => {},
    )
    await Promise.race([asked, new Promise(resolve => setTimeout(resolve, 20))])
  } catch {
    // these arguments are not for this method
  }
}

const refusal = (call: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(call).then(
    () => null,
    error => error,
  )

t.test('every path of the official SDKs is served, or refused once as not found', async t => {
  const options = { apiKey: KEY, fetch: capture as typeof fetch, maxRetries: 0 }
  const clients = [
    new OpenAI({ ...options, baseURL: 'http://gateway.test/v1' }),
    new Anthropic({ ...options, baseURL: 'http://gateway.test' }),
    new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: 'http://gateway.test' } }),
  ]
  const { fetch } = globalThis
  globalThis.fetch = capture as typeof globalThis.fetch
  const stray = () => {} // a rejection that a method of an SDK leaves to nobody
  process.on('unhandledRejection', stray)
  for (const client of clients) {
    for (const member of Object.values(client)) if (isResource(member)) await callAll(member, new Set([client]))
  }
  globalThis.fetch = fetch
  process.off('unhandledRejection', stray)
  t.ok(seen.size > 300, `${seen.size} paths`)
  const gateway = await openGateway()
  t.teardown(() => gateway.stop())
  const found = new Set<string>()
  for (const asked of [...seen].sort()) {
    const [method, path] = asked.split(' ') as [string, string]
    if (!path.startsWith('/v1') && !path.startsWith('/upload')) continue // a name that is no path
    if (SERVED.includes(asked)) found.add(asked)
    else if (!REFUSED.some(pattern => pattern.test(asked))) t.fail(`${asked} is not decided`)
    const answer = await globalThis.fetch(gateway.main + path, {
      method,
      headers: {
        authorization: `Bearer ${KEY}`,
        'x-api-key': KEY,
        'x-goog-api-key': KEY,
        'content-type': 'application/json',
      },
      ...(method === 'GET' ? {} : { body: '{}' }),
    })
    const text = await answer.text()
    const isUrl = answer.status === 404 && text.includes('Invalid URL')
    if (isUrl === SERVED.includes(asked)) t.fail(`${asked}: ${answer.status} ${text}`)
    if (isUrl && answer.headers.get('x-should-retry') !== 'false') t.fail(`${asked} may be asked again`)
  }
  t.same([...found].sort(), SERVED.toSorted(), 'all that is served is asked for by one of them')

  let asked = 0
  const counted = ((...args: Parameters<typeof fetch>) => {
    asked++
    return fetch(...args)
  }) as typeof fetch
  const openai = new OpenAI({ apiKey: KEY, baseURL: `${gateway.main}/v1`, fetch: counted })
  t.type(await refusal(openai.files.list()), OpenAI.NotFoundError)
  const anthropic = new Anthropic({ apiKey: KEY, baseURL: gateway.main, fetch: counted })
  t.type(await refusal(anthropic.messages.batches.list()), Anthropic.NotFoundError)
  t.equal(asked, 2, 'each is asked for once')
  const google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.main } })
  t.match(await refusal(google.caches.get({ name: 'cachedContents/x' })), { name: 'ApiError', status: 404 })
  const newer = await refusal(google.interactions.create({ model: 'gamma-3.8-flash', input: 'x' }))
  t.match(newer, { name: 'NotFoundError', status: 404, message: /use \/v1beta\/models\/MODEL:generateContent/ })
  t.equal((newer as Error).message.split('request id').length, 2)
  // a file of any size is refused by its path, before it is read
  const upload = http.request(`${gateway.main}/upload/v1beta/files`, {
    method: 'POST',
    headers: { 'content-length': 10_000_000 },
  })
  upload.on('error', () => {})
  upload.flushHeaders()
  const [answer] = (await once(upload, 'response')) as [http.IncomingMessage]
  t.equal(answer.statusCode, 404)
  upload.destroy()
})
