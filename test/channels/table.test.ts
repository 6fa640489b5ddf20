import t from 'tap'
import { compileRoutes } from '../../lib/world/table.ts'
import type { Channel, Model, Offline } from '../../lib/terms/records.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import { channel } from './support.ts'

const routes = (...channels: Channel[]) => compileRoutes({ channels })
const row = (name: string, offline: Offline): Model => ({
  name,
  price: null,
  maxOutput: null,
  defaultOutput: 1,
  inputFactor: 1_000_000,
  ...MODEL_DEFAULTS,
  offline,
})

t.test('a route is of one group, model and protocol; tiers by falling priority', async t => {
  const table = routes(
    channel('low', { priority: -1 }),
    channel('b', { priority: 5 }),
    channel('a', { priority: 5, models: { m: 'upstream-m', n: 'n' } }),
    channel('vip', { priority: 9, groups: ['vip'], protocols: ['messages', 'chat'] }),
  )
  const names = (group: string, model: string, protocol: 'chat' | 'messages') =>
    table.find(group, model, protocol)?.tiers.map(tier => tier.map(c => `${c.channel.name}:${c.upstreamModel}`))
  t.same(names('default', 'm', 'chat'), [['a:upstream-m', 'b:m'], ['low:m']])
  t.same(names('default', 'n', 'chat'), [['a:n']])
  t.same(names('vip', 'm', 'messages'), [['vip:m']])
  for (const [group, model, protocol] of [
    ['default', 'm', 'messages'],
    ['default', 'x', 'chat'],
    ['nobody', 'm', 'chat'],
    ['constructor', 'm', 'chat'],
    ['default', '__proto__', 'chat'],
  ] as const) {
    t.equal(table.find(group, model, protocol), undefined, `${group} ${model} ${protocol}`)
  }
  t.equal(table.find('default', 'm', 'chat'), table.find('default', 'm', 'chat'), 'built once')
})

t.test('models that a group is offered: by enabled channels only, sorted, each once', async t => {
  const table = routes(
    channel('a', { models: { z: 'z', b: 'b' }, protocols: ['chat', 'generate'] }),
    channel('b', { models: { a: 'a', b: 'b' }, protocols: ['messages', 'chat'] }),
    channel('off', { models: { off: 'off', z: 'z' }, protocols: ['responses'], status: 'disabled' }),
  )
  t.same(table.models('default'), ['a', 'b', 'z'])
  t.same([...table.protocolsOf('default', 'b')].sort(), ['chat', 'generate', 'messages'])
  t.same(table.protocolsOf('default', 'z'), ['chat', 'generate'])
  t.same(table.protocolsOf('default', 'off'), [])
  t.same(table.models('nobody'), [])
  t.ok(table.find('default', 'off', 'responses'), 'a disabled channel is a route all the same: 503, not 400')
})

t.test('a model that is offline is a route without candidates, and is listed as offline', async t => {
  const both = channel('a', { groups: ['default', 'vip'], models: { all: 'x', some: 'x', on: 'x' } })
  const off = channel('off', { models: { some: 'x', gone: 'x' }, status: 'disabled' })
  const models = [row('all', true), row('some', ['vip']), row('on', []), row('gone', true)]
  const table = compileRoutes({ channels: [both, off], models })
  t.same([table.models('default'), table.models('vip')], [['on', 'some'], ['on']])
  t.same([table.protocolsOf('vip', 'some'), table.protocolsOf('default', 'some')], [[], ['chat']])
  t.equal(table.find('default', 'all', 'chat')?.tiers.length, 0)
  t.equal(table.find('default', 'all', 'messages'), undefined, 'no channel has it there: 400, not 503')
  t.equal(table.find('default', 'some', 'chat')?.tiers[0]?.length, 2)
  const listed = (group: string) => table.listed(group).map(one => [one.model, one.offline, one.protocols.join()])
  t.same(listed('default'), [
    ['all', true, 'chat'],
    ['on', false, 'chat'],
    ['some', false, 'chat'],
  ])
  t.same(listed('vip').at(-1), ['some', true, 'chat'])
})

t.test('a channel named twice for a group or protocol is one candidate', async t => {
  const table = routes(channel('a', { groups: ['default', 'default'], protocols: ['chat', 'chat'] }))
  t.equal(table.find('default', 'm', 'chat')?.tiers[0]?.length, 1)
})

t.test('channels that reach an upstream in the same way share its connections', async t => {
  const b = { baseUrl: 'https://a.example/b' }
  const ways = (...channels: Channel[]) => routes(...channels).connections.size
  t.equal(ways(channel('a'), channel('b', b)), 1)
  for (const other of [{ proxy: 'http://p' }, { ca: 'PEM' }, { http2: true }, { private: true }])
    t.equal(ways(channel('a'), channel('b', { ...b, ...other })), 2, JSON.stringify(other))
})
