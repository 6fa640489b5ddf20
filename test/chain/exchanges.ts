/**
 * Two gateways, one behind the other: what the inner one charges the outer one is what the outer one's books call the cost of
 * the same request, to the micro-CNY, whatever the protocol. Where a client has left or the upstream broke off, each gateway
 * counts for itself what it saw; then the inner charge is at most what the outer one may have to pay, and both are listed.
 */
import type { Test } from 'tap'
import { call } from '../simulator/support.ts'
import { KEY, type OpenGateway } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import type { Random } from '../support/random.ts'
import { until } from '../support/wait.ts'

type Json = Record<string, unknown>

const PROTOCOLS = [
  'messages',
  'chat',
  'responses',
  'images',
  'generate',
  'embeddings',
  'rerank',
  'moderations',
  'speech',
  'transcriptions',
] as const
type Spoken = (typeof PROTOCOLS)[number]

const tokens = { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6 }
const PRICES: Record<Spoken, Json> = {
  messages: tokens,
  chat: { ...tokens, over: [{ tokens: 2_000, input: 6, output: 20, cache_read: 0.7 }] },
  responses: tokens,
  images: { image: 0.28 },
  generate: { ...tokens, over: [{ tokens: 1_000, input: 5, output: 17 }] },
  embeddings: { input: 0.7 },
  rerank: { request: 0.014 },
  moderations: { input: 0.1 },
  speech: { character: 110 },
  transcriptions: { second: 0.0007 },
}
const modelOf = (protocol: Spoken): string => `m-${protocol}`

const catalog = (upstream: string, key: string, cost: boolean): Json => ({
  groups: [{ name: 'default', rate: { requests: 0, minutes: 1 } }],
  models: PROTOCOLS.map(protocol => ({ name: modelOf(protocol), price: PRICES[protocol] })),
  channels: [
    {
      name: 'up',
      base_url: upstream,
      protocols: [...PROTOCOLS],
      key,
      groups: ['default'],
      models: PROTOCOLS.map(modelOf),
      ...(cost ? { cost: 1 } : {}),
    },
  ],
  accounts: [{ name: 'rich', groups: ['default'], balance: 1_000_000 }],
  keys: [{ account: 'rich', name: 'k', secret: KEY, group: 'default' }],
})

interface Ask {
  path: string
  headers: Record<string, string>
  body: string
  /** Leave after so many bytes of the answer. */
  leaveAfter: number | null
  /** The usage of both may be counted. */
  loose: boolean
}

const SYSTEM = 'Answer in one sentence and name the file that you read it in. '
const TOOL = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }

/** A request with what it wants of the simulator in it. */
function randomAsk(random: Random, protocol: Spoken): Ask {
  const talks = ['messages', 'chat', 'responses', 'generate'].includes(protocol)
  const stream = talks && random.next() < 0.6
  const fate = random.next()
  const order = [`tokens=${random.int(1, 120)}`]
  let loose = false
  let leaveAfter: number | null = null
  const usesTool = talks && random.next() < 0.2
  if (fate < 0.08) order.push(`error=${random.pick([400, 404, 413, 422])}`)
  else if (talks && fate < 0.14) {
    order.push(
      random.pick([`cut=${random.int(1, 9)}`, `end_early=${random.int(1, 9)}`, `event_error=${random.int(1, 9)}`]),
    )
    loose = true
  } else if (talks && fate < 0.2) {
    order.push('usage=none')
    loose = true
  } else if (talks && fate < 0.26 && stream) {
    order.push('tps=400')
    leaveAfter = random.int(1, 2_000)
    loose = true
  }
  const prompt = `${usesTool ? 'use tool ' : ''}${'Read the file. '.repeat(random.int(1, 300))}[[sim ${order.join(' ')}]]`
  const system = SYSTEM.repeat(random.pick([1, 120, 400]))
  return { ...spoken(protocol, prompt, system, stream, usesTool), leaveAfter, loose }
}

function spoken(protocol: Spoken, prompt: string, system: string, stream: boolean, usesTool: boolean) {
  const json = (path: string, body: Json, headers: Record<string, string> = { authorization: `Bearer ${KEY}` }) => ({
    path,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const model = modelOf(protocol)
  const fn = { name: 'read_file', description: 'reads a file', parameters: TOOL }
  switch (protocol) {
    case 'messages':
      return json(
        '/v1/messages',
        {
          model,
          max_tokens: 400,
          stream,
          system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
          messages: [{ role: 'user', content: prompt }],
          ...(usesTool ? { tools: [{ name: fn.name, input_schema: TOOL }] } : {}),
        },
        { 'x-api-key': KEY, 'alpha-version': '2023-06-01' },
      )
    case 'chat':
      return json('/v1/chat/completions', {
        model,
        max_tokens: 400,
        stream,
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: prompt },
        ],
        ...(usesTool ? { tools: [{ type: 'function', function: fn }] } : {}),
      })
    case 'responses':
      return json('/v1/responses', {
        model,
        max_output_tokens: 400,
        stream,
        instructions: system,
        input: prompt,
        ...(usesTool ? { tools: [{ type: 'function', ...fn }] } : {}),
      })
    case 'generate':
      return json(
        `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
        {
          systemInstruction: { parts: [{ text: system }] },
          contents: [{ role: 'user', parts: [{ text: prompt }] }],
          generationConfig: { maxOutputTokens: 400 },
          ...(usesTool ? { tools: [{ functionDeclarations: [fn] }] } : {}),
        },
        { 'x-gamma-api-key': KEY },
      )
    case 'images':
      return json('/v1/images/generations', { model, prompt, n: 2 })
    case 'embeddings':
    case 'moderations':
      return json(`/v1/${protocol}`, { model, input: prompt })
    case 'rerank':
      return json('/v1/rerank', { model, query: prompt, documents: ['one file', 'another file', system] })
    case 'speech':
      return json('/v1/audio/speech', { model, input: prompt, voice: 'alloy', response_format: 'wav' })
    case 'transcriptions': {
      const part = (head: string, text: string) => `--b\r\ncontent-disposition: form-data; ${head}\r\n\r\n${text}\r\n`
      const file = part('name="file"; filename="a.mp3"\r\ncontent-type: audio/mpeg', 'x'.repeat(20_000))
      return {
        path: '/v1/audio/transcriptions',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'multipart/form-data; boundary=b' },
        body: `${part('name="model"', model)}${part('name="prompt"', prompt)}${file}--b--\r\n`,
      }
    }
  }
}

/** Asks the outer gateway so often, and compares the books of both. */
export async function compareChain(t: Test, random: Random, count: number): Promise<void> {
  const inner = await openGateway({ catalog: url => catalog(url, 'up', false) })
  t.teardown(() => inner.stop())
  const outer = await openGateway({ catalog: () => catalog(inner.main, KEY, true) })
  t.teardown(() => outer.stop())
  const loose = new Set<string>()
  const asked: Promise<void>[] = []
  const ask = async (): Promise<void> => {
    const one = randomAsk(random, random.pick(PROTOCOLS))
    const got = await call(`${outer.main}${one.path}`, {
      headers: one.headers,
      body: one.body,
      ...(one.leaveAfter === null ? {} : { leaveAfter: one.leaveAfter }),
    })
    const id = got.headers['x-request-id']
    if (one.loose && typeof id === 'string') loose.add(id)
  }
  for (let i = 0; i < count; i++) {
    asked.push(ask())
    if (asked.length === 8) await Promise.all(asked.splice(0))
  }
  await Promise.all(asked)
  for (const gateway of [outer, inner])
    await until('nothing is open any more', async () => (await heldOf(gateway)) === '0.000000')

  const [outside, inside] = [await rowsOf(outer), await rowsOf(inner)]
  const byId = new Map(inside.map(row => [row['request_id'], row]))
  const counts = { exact: 0, free: 0, counted: 0, differ: 0 }
  let innerMore = 0
  for (const row of outside) {
    const same = byId.get(row['upstream_id'])
    const about = `${row['request_id']} ${row['protocol']} ${row['status']} ${row['end']} ${row['basis']}`
    if (same === undefined) {
      t.fail(`${about}: the inner gateway has no row of it`)
      continue
    }
    byId.delete(row['upstream_id'])
    const [cost, charge] = [row['cost'] ?? '0.000000', same['charge']]
    if (!loose.has(row['request_id'] as string)) {
      t.equal(charge, cost, about)
      counts[charge === '0.000000' ? 'free' : 'exact']++
    } else {
      counts.counted++
      if (charge !== cost) counts.differ++
      if (Number(charge) > Number(cost)) innerMore += Number(charge) - Number(cost)
      t.ok(Number(charge) <= Number(row['held']), `${about}: inner ${charge}, held by the outer ${row['held']}`)
    }
  }
  t.equal(byId.size, 0, 'the inner gateway charged nothing that the outer one has no row of')
  t.ok(counts.exact > count / 2)
  for (const gateway of [outer, inner]) t.match(await gateway.admin('GET', '/admin/audit'), { ok: true })
  t.comment(
    `${outside.length} exchanges: ${counts.exact} charged alike, ${counts.free} free in both, ${counts.counted} left, cut or ` +
      `without a report, of which ${counts.differ} differ; the inner charged ${innerMore.toFixed(6)} CNY more there`,
  )
}

async function heldOf(gateway: OpenGateway): Promise<unknown> {
  return (await gateway.admin('GET', '/admin/accounts/rich'))['held']
}

async function rowsOf(gateway: OpenGateway): Promise<Json[]> {
  const rows: Json[] = []
  for (let after = ''; ; ) {
    const page = await gateway.admin('GET', `/admin/usage?limit=1000${after && `&after=${after}`}`)
    rows.push(...page.data)
    if (typeof page['next'] !== 'string') return rows
    after = page['next']
  }
}
