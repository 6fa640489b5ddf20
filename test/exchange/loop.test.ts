/** A request that comes back to the gateway by a way that no file shows, and one that goes through a chain of gateways. */
import t, { type Test } from 'tap'
import { HOPS, instanceName, isLoop, withHop } from '../../lib/terms/hops.ts'
import { KEY, testCatalog } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { open } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'

const ask = async (base: string, hops?: string) => {
  const response = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      ...(hops === undefined ? {} : { [HOPS]: hops }),
    },
    body: JSON.stringify({ model: 'beta-4.7', max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] }),
  })
  return { status: response.status, text: await response.text() }
}

/** An address that leads to a gateway which is started later. */
async function door(t: Test) {
  let port = 0
  const proxy = await startTcpProxy(
    () => port,
    () => ({}),
  )
  t.teardown(() => proxy.close())
  return {
    url: `http://127.0.0.1:${proxy.port}`,
    lead(base: string) {
      port = Number(new URL(base).port)
    },
  }
}

/** A gateway with one channel, which leads to that address with a key of ours. */
async function gatewayTo(t: Test, upstream: string | null, more: object = {}) {
  const gateway = await openGateway({
    catalog: simulator => {
      const file = testCatalog(simulator) as { channels: object[] }
      const channels =
        upstream === null
          ? file.channels
          : file.channels.map(row => ({ ...row, base_url: upstream, key: KEY, ...more }))
      return { ...file, channels }
    },
  })
  t.teardown(() => gateway.stop())
  return gateway
}

t.test('a loop ends at its second turn, and nobody pays for it', async t => {
  const back = await door(t)
  const gateway = await gatewayTo(t, back.url)
  back.lead(gateway.main)
  const { status, text } = await ask(gateway.main)
  t.equal(status, 508)
  t.match(text, /请求回到了网关自身/)
  const { balance } = await gateway.admin('GET', '/admin/accounts/rich')
  t.equal(balance, '1000.000000')
  const rows = await gateway.usage('rich', 1)
  t.same(
    rows.map(({ charge }) => charge),
    ['0.000000'],
  )
})

t.test('gateways behind one another are no loop, and two that lead to each other are one', async t => {
  const end = await gatewayTo(t, null)
  const middle = await gatewayTo(t, end.main)
  const first = await gatewayTo(t, middle.main)
  t.equal((await ask(first.main)).status, 200)
  const back = await door(t)
  const one = await gatewayTo(t, back.url)
  const other = await gatewayTo(t, one.main)
  back.lead(other.main)
  t.equal((await ask(one.main)).status, 508)
})

t.test('a real provider is sent nothing of it', async t => {
  const rows = [
    [{}, true],
    [{ kind: 'openai', protocols: ['chat'] }, false],
  ] as const
  for (const [channel, sent] of rows) {
    const scene = await open(t, { channels: { a: channel } })
    scene.at('a').script = answers(10, 10)
    t.equal(await scene.ask(document()).end(), 'whole')
    t.equal(new RegExp(`^${HOPS}: [0-9a-f]{16}\r?$`, 'im').test(scene.at('a').calls[0]?.head ?? ''), sent)
  }
})

t.test('names', async t => {
  const own = instanceName({ store: 'sqlite:/a/gateway.db', secret: 'one' })
  const others = ['sqlite:/b/gateway.db', 'mysql://u:p@h/gateway', 'mysql://u:p@h/other'].map(store =>
    instanceName({ store, secret: 'one' }),
  )
  t.equal(new Set([own, ...others, instanceName({ store: 'sqlite:/a/gateway.db', secret: 'two' })]).size, 5)
  t.equal(
    instanceName({ store: 'mysql://gateway:a@10.0.0.1:3306/gateway', secret: 's' }),
    instanceName({ store: 'mysql://other:b@db.internal/gateway', secret: 's' }),
    'gateways of one store have one name, however each reaches it',
  )
  const [other = '', third = ''] = others
  const rows: [header: string | undefined, loops: boolean, next: string][] = [
    [undefined, false, own],
    ['', false, own],
    [other, false, `${other}, ${own}`],
    [`${other},${third}`, false, `${other}, ${third}, ${own}`],
    [`${other}, ${own}`, true, `${other}, ${own}, ${own}`],
    ['anything\u0000, <b>', false, own],
    [Array(8).fill(other).join(','), true, [...Array(8).fill(other), own].join(', ')],
    [Array(7).fill(other).join(','), false, [...Array(7).fill(other), own].join(', ')],
  ]
  for (const [header, loops, next] of rows) {
    t.equal(isLoop(header, own), loops, String(header))
    t.equal(withHop(header, own), next)
  }
  t.ok(withHop(Array(10_000).fill(other).join(','), own).length < 400, 'whatever a client sends')
})
