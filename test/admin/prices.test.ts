import t from 'tap'
import { openOps } from './support.ts'

t.test('the prices that a model has had, newest first, also of a deleted one', async t => {
  const ops = await openOps(t)
  const put = (price: object | null) => ops.admin('PUT', '/admin/models/a%2Fm', { price })
  await put({ input: 1 })
  await put({ input: 1, image: { sizes: { '1024x1024': 0.3 } } })
  await put({ input: 1, image: { sizes: { '1024x1024': 0.3 } } })
  await put({ input: 2, over: [{ tokens: 200_000, input: 4 }], tiers: { flex: 0.5 } })
  const prices = async (query = '') => await ops.admin('GET', `/admin/models/a%2Fm/prices${query}`)
  const before = await prices()
  t.match(before.json, {
    data: [
      {
        version: 3,
        until: null,
        actor: 'token',
        price: { input: 2, over: [{ tokens: 200_000, input: 4 }], tiers: { flex: 0.5 } },
      },
      { version: 2, actor: 'token', price: { input: 1, image: { sizes: { '1024x1024': 0.3 } } } },
      { version: 1, actor: 'token', price: { input: 1 } },
    ],
    next: null,
  })
  t.match(before.data[0]?.['at'], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.equal(before.data[1]?.['until'], before.data[0]?.['at'])
  const first = await prices('?limit=2')
  t.equal(first.json['next'], '2')
  t.match((await prices(`?limit=2&after=${first.json['next']}`)).json, { data: [{ version: 1 }], next: null })

  await ops.admin('DELETE', '/admin/models/a%2Fm')
  const after = (await prices()).data
  t.type(after[0]?.['until'], 'string')
  t.same(
    after.map(({ until: _, ...rest }) => rest),
    before.data.map(({ until: _, ...rest }) => rest),
    'nothing is lost',
  )
})

t.test('what all models cost, now and at a moment', async t => {
  const ops = await openOps(t)
  await ops.admin('PUT', '/admin/models/b', { price: { input: 1 } })
  await ops.admin('PUT', '/admin/models/a', { price: { request: 0.05 } })
  await ops.admin('PUT', '/admin/models/none', {})
  const { json, data } = await ops.admin('GET', '/admin/prices')
  t.match(json, {
    data: [
      { model: 'a', version: 2, actor: 'token', price: { request: 0.05 } },
      { model: 'b', version: 1, actor: 'token', price: { input: 1 } },
    ],
  })
  t.equal(data.length, 2)
  t.same((await ops.admin('GET', `/admin/prices?at=${String(data[1]?.['at'])}`)).data.at(-1)?.['model'], 'b')
  t.same((await ops.admin('GET', '/admin/prices?at=2020-01-01')).data, [])
})

t.test('the multipliers of a group', async t => {
  const ops = await openOps(t)
  await ops.admin('PUT', '/admin/groups/vip', { multiplier: 0.5 })
  await ops.admin('PUT', '/admin/groups/vip', { multiplier: 0.5, rate: { requests: 1, minutes: 1 } })
  await ops.admin('PUT', '/admin/groups/vip', { multiplier: 2 })
  t.match((await ops.admin('GET', '/admin/groups/vip/multipliers')).data, [
    { version: 2, multiplier: 2, until: null },
    { version: 1, multiplier: 0.5 },
  ])
})

t.test('what is refused', async t => {
  const ops = await openOps(t)
  await ops.admin('PUT', '/admin/models/none', {})
  const rows: [path: string, status: number, text: RegExp | null][] = [
    ['models/none/prices', 200, null],
    ['models/nobody/prices', 404, /there is no model nobody/],
    ['models/nonne/prices', 404, /did you mean none/],
    ['groups/nobody/multipliers', 404, /there is no group nobody/],
    ['models/none/prices?limit=0', 400, /limit: expected/],
    ['models/none/prices?until=1', 400, /until: unknown field/],
    ['prices?at=yesterday', 400, /at: expected a time/],
  ]
  for (const [path, status, text] of rows) {
    const reply = await ops.admin('GET', `/admin/${path}`)
    t.equal(reply.status, status, path)
    if (text !== null) t.match(reply.error.message, text)
  }
})
