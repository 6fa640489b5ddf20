/**
 * What a gateway shows of attempts that cost something and were not charged: the receipt of their request names them, the log
 * has a row of each beside it, and totals have their cost and no request of them.
 */
import t from 'tap'
import { KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { until } from '../support/wait.ts'
import { answers } from './support/speech.ts'
import { silent, Upstream } from './support/upstream.ts'

const HEDGED_KEY = 'sk-test-hedged-0123456789'

type Json = Record<string, unknown>
const USAGE = { prompt_tokens: 100, completion_tokens: 50 }
/** 100 in and 50 out at 2 and 8, by the factor of the channel `one`. */
const TAKEN_BACK = (100 * 2 + 50 * 8) * 0.5
const CHARGED = 100 * 2 + 10 * 8

t.test('a gateway', async t => {
  const upstreams = await Promise.all([Upstream.open(), Upstream.open()])
  for (const upstream of upstreams) t.teardown(() => upstream.close())
  const [one, two] = upstreams
  const channel = (name: string, upstream: Upstream, cost: number, priority: number) => ({
    name,
    base_url: upstream.url,
    protocols: ['chat'],
    key: `up-${name}`,
    groups: ['default', 'hedged'],
    models: ['m'],
    cost,
    priority,
  })
  const gateway = await openGateway({
    catalog: () => ({
      accept: ['below_cost'],
      // a second channel is asked beside the first only where that is wanted: how fast this machine is decides nothing
      groups: [
        { name: 'default', rate: { requests: 0, minutes: 1 } },
        { name: 'hedged', hedge: { after: '200ms' }, rate: { requests: 0, minutes: 1 } },
      ],
      models: [{ name: 'm', price: { input: 2, output: 8 } }],
      channels: [channel('one', one, 0.5, 1), channel('two', two, 2, 0)],
      accounts: [{ name: 'rich', groups: ['default', 'hedged'], balance: 1000 }],
      keys: [
        { account: 'rich', name: 'k', secret: KEY, group: 'default' },
        { account: 'rich', name: 'h', secret: HEDGED_KEY, group: 'hedged' },
      ],
    }),
  })
  t.teardown(() => gateway.stop())
  const ask = async (key: string): Promise<string> => {
    const response = await fetch(`${gateway.main}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'x'.repeat(4_000) }] }),
    })
    t.equal(response.status, 200)
    await response.text()
    return response.headers.get('x-request-id') as string
  }
  const receiptOf = async (id: string): Promise<Json> => {
    let found: Json | null = null
    await until(`the gateway knows ${id}`, async () => {
      found = await gateway.admin('GET', `/admin/requests/${id}`).catch(() => null)
      return found !== null
    })
    return found as unknown as Json
  }
  const list = async (query: string) => (await gateway.admin('GET', `/admin/usage?${query}`))['data'] as Json[]
  const money = (micro: number) => (micro / 1e6).toFixed(6)

  one.script = call => call.whole(200, { error: { message: 'no' }, usage: USAGE })
  two.script = answers(100, 10)
  const first = await ask(KEY)
  const taken = await receiptOf(first)
  t.match(taken, { channel: 'two', charge: money(CHARGED), cost: money(CHARGED * 2) })
  const attempt = { request_id: `${first}.1`, channel: 'one', status: 200, error: 'answer', cost: money(TAKEN_BACK) }
  t.match(taken['uncharged'], [attempt])
  t.match(await receiptOf(`${first}.1`), { outcome: 'attempt', charge: '0.000000', uncharged: [] })

  one.script = silent
  const second = await ask(HEDGED_KEY)
  const lost = await receiptOf(second)
  t.match(lost, { channel: 'two', charge: money(CHARGED), uncharged: [{ channel: 'one', status: 0, error: 'lost' }] })
  const [{ cost: ofLost = '0' } = {}] = lost['uncharged'] as { cost: string }[]
  t.ok(Number(ofLost) > 0.001, `the question, ${ofLost}`)

  t.same(
    (await list('attempts=without')).map(row => row['request_id']),
    [second, first],
    'one row for each request',
  )
  t.same((await list('')).map(row => row['request_id']).sort(), [first, `${first}.1`, second, `${second}.1`].sort())
  t.same((await list(`request_id=${first}`)).length, 1)
  const { data } = await gateway.admin('GET', '/admin/usage/summary?by=channel')
  t.match(data, [
    {
      channel: 'one',
      requests: 0,
      errors: 0,
      input: 0,
      charge: '0.000000',
      cost: money(TAKEN_BACK + Number(ofLost) * 1e6),
    },
    { channel: 'two', requests: 2, errors: 0, charge: money(CHARGED * 2), cost: money(CHARGED * 4) },
  ])
  t.match(await gateway.admin('GET', '/admin/audit'), { ok: true, imbalance: '0.000000' })
})
