/** The catalogue over HTTP: what everybody may read, that its prices are those that are charged, and that nothing hidden leaves. */
import t from 'tap'
import { CATALOGUE } from '../../../lib/console/api/catalogue.ts'
import { KEY, SLOW_KEY, type OpenGateway, testCatalog } from '../../support/gateway.ts'
import { openGateway } from '../../support/open-gateway.ts'
import { until } from '../../support/wait.ts'

type Json = Record<string, unknown>

interface Model {
  name: string
  state: string
  protocols: string[]
  price: { lists: { over: number | null; prices: Record<string, string>; images: Record<string, string> }[] }
}
interface Catalogue {
  group: string | null
  groups: string[]
  models: Model[]
}

/** Upstreams know every model by a name that stands nowhere else. */
const catalog = (upstream: string): Json => {
  const file = testCatalog(upstream) as { models: { name: string }[]; channels: Json[] } & Json
  const groups = [
    { name: 'default', multiplier: 1.5, public: true, rate: { requests: 0, minutes: 1 } },
    { name: 'slow', multiplier: 0.333333, public: true, rate: { requests: 0, minutes: 1 } },
    { name: 'hidden-group', multiplier: 0.25 },
  ]
  const renamed = Object.fromEntries(file.models.map(({ name }) => [name, `hidden-${name}`]))
  const hidden = { name: 'hidden-model', price: { input: 1, output: 1 } }
  const [sim] = file.channels
  return {
    ...file,
    // a group may cost less than the upstream takes
    accept: ['below_cost'],
    groups,
    models: [...file.models, hidden],
    channels: [
      { ...sim, name: 'hidden-channel', models: renamed, weight: 4321, cost: 0.61 },
      { ...sim, name: 'hidden-other', groups: ['hidden-group'], models: { 'hidden-model': 'hidden-x' } },
    ],
  }
}

const read = async (gateway: OpenGateway, path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(gateway.main + path, { headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) as Catalogue }
}

t.test('the catalogue of a gateway', async t => {
  const gateway = await openGateway({ catalog })
  t.teardown(() => gateway.stop())

  await t.test('what everybody gets, in the form that the API says', async t => {
    const { status, headers, json } = await read(gateway, '/console/models.json')
    t.equal(status, 200)
    t.match(headers.get('content-type'), /^application\/json/)
    t.match(headers.get('cache-control'), /^public, max-age=\d+$/)
    const { group, groups, models } = json()
    t.same([group, groups], ['default', ['default', 'slow']])
    t.same(
      models.map(({ name, state }) => [name, state]),
      ['alpha-sonnet-5-5', 'beta-4.7', 'gamma-3.8-flash', 'gamma-image-2'].map(name => [name, 'available']),
    )
    t.same(models.at(-1)?.protocols, ['images'])
    for (const { id, call, at, answer } of CATALOGUE.filter(row => row.who === 'anyone')) {
      const path = call.replace('GET ', at === 'root' ? '/console' : '/console/api').replace('{model}', 'beta-4.7')
      const got = await read(gateway, path)
      t.equal(got.status, 200, id)
      t.ok((answer.body as { safeParse(value: unknown): { success: boolean } }).safeParse(got.json()).success, id)
      t.equal((await read(gateway, path, { 'if-none-match': got.headers.get('etag') as string })).status, 304, id)
      t.equal((await read(gateway, `${path}?group=hidden-group`)).status, 404, `${id} of a hidden group`)
      t.equal((await read(gateway, `${path}?group=nowhere`)).status, 404, `${id} of no group`)
      t.equal((await read(gateway, `${path}?gruop=slow`)).status, 400, id)
    }
    t.equal((await read(gateway, '/console/api/catalogue/models/hidden-model/prices')).status, 404)
    t.equal((await read(gateway, '/console/api/accounts/x/models')).status, 401)
  })

  await t.test('a request is charged by the price that the catalogue says', async t => {
    for (const [group, key] of [
      ['default', KEY],
      ['slow', SLOW_KEY],
    ] as const) {
      const { models } = (await read(gateway, `/console/models.json?group=${group}`)).json()
      const response = await fetch(`${gateway.main}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({
          model: 'beta-4.7',
          max_tokens: 50,
          messages: [{ role: 'user', content: 'x'.repeat(999) }],
        }),
      })
      t.equal(response.status, 200)
      const account = group === 'default' ? 'rich' : 'slow'
      const [row] = (await gateway.usage(account, 1)) as Record<string, number | string>[]
      const { prices } = models.find(({ name }) => name === 'beta-4.7')!.price.lists[0]!
      const classes = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output']
      const pico = classes.reduce((sum, name) => sum + BigInt(row![name] as number) * picoOf(prices[name]!), 0n)
      const micro = (pico + 999_999_999_999n) / 1_000_000_000_000n
      t.ok(micro > 0n)
      t.equal(BigInt(String(row!['charge']).replace('.', '')), micro, group)
    }
  })

  await t.test('no byte that everybody may read names what is hidden', async t => {
    const hidden = ['hidden', '4321', '0.61', 'rich', 'sk-test', new URL(gateway.simulator.url).port]
    const paths = CATALOGUE.filter(row => row.who === 'anyone').flatMap(({ call, at }) => {
      const path = call.replace('GET ', at === 'root' ? '/console' : '/console/api')
      const models = path.includes('{model}') ? ['beta-4.7', 'gamma-image-2'] : ['']
      return models.flatMap(model => ['', '?group=slow'].map(query => path.replace('{model}', model) + query))
    })
    for (const path of paths) {
      const { text, headers, status } = await read(gateway, path)
      t.equal(status, 200, path)
      const all = text + JSON.stringify([...headers])
      t.same(
        hidden.filter(word => all.includes(word)),
        [],
        path,
      )
    }
  })

  await t.test('what an operator changes shows: offline, public, a price', async t => {
    const shows = (what: (catalogue: Catalogue) => boolean) =>
      until('the change shows', async () => what((await read(gateway, '/console/models.json')).json()))
    const beta = ({ models }: Catalogue) => models.find(({ name }) => name === 'beta-4.7')
    const price = { input: 2, output: 8 }
    await gateway.admin('PUT', '/admin/models/beta-4.7', { price, offline: true })
    await shows(all => beta(all)?.state === 'offline')
    await gateway.admin('PUT', '/admin/models/beta-4.7', { price: { ...price, input: 4 } })
    await shows(all => beta(all)?.state === 'available' && beta(all)?.price.lists[0]?.prices['input'] === '6')
    const history = await read(gateway, '/console/api/catalogue/models/beta-4.7/prices')
    const { data } = JSON.parse(history.text) as { data: { until: string | null; price: Model['price'] }[] }
    t.same(
      data.map(({ price }) => price.lists[0]?.prices['input']),
      ['6', '3', '3'],
    )
    await gateway.admin('PUT', '/admin/groups/slow', { multiplier: 0.333333, public: false })
    await shows(({ groups }) => groups.join() === 'default')
    t.equal((await read(gateway, '/console/models.json?group=slow')).status, 404)
    await gateway.admin('PUT', '/admin/models/gamma-image-2', {})
    await shows(({ models }) => models.length === 3)
  })
})

/** A decimal in CNY as pico-CNY. */
function picoOf(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(12, '0'))
}
