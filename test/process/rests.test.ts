/** What one worker learns of an upstream that is too busy, all workers of the gateway know. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/wait.ts'

let asked = 0
const upstream = http.createServer((req, res) => {
  asked++
  req.resume()
  res.writeHead(429, { 'content-type': 'application/json', 'retry-after': '300' }).end('{"error":{"message":"slow"}}')
})
await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
t.teardown(() => upstream.close())
const { port } = upstream.address() as AddressInfo
const SECRET = 'sk-of-many-workers'
const gateway = await startGateway({
  config: { workers: 4 },
  catalog: () => ({
    groups: [{ name: 'default' }],
    models: [{ name: 'm', price: { input: 2, output: 8 } }],
    channels: [
      {
        name: 'a',
        base_url: `http://127.0.0.1:${port}`,
        protocols: ['chat'],
        key: 'up',
        groups: ['default'],
        models: ['m'],
      },
    ],
    accounts: [{ name: 'one', groups: ['default'], balance: 10 }],
    keys: [{ account: 'one', name: 'k', secret: SECRET, group: 'default' }],
  }),
})
t.teardown(() => gateway.stop())

/** A connection of its own, so that any of the workers may get it. */
async function ask(): Promise<{ status: number; text: string }> {
  const res = await fetch(`${gateway.main}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }),
  })
  return { status: res.status, text: await res.text() }
}

t.test('an account that one worker was told to let wait waits at all of them', async t => {
  t.match(await ask(), { status: 429, text: /slow/ })
  await until('all workers know of it', async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, ask))
    return answers.every(({ text }) => text.includes('负载已饱和'))
  })
  const before = asked
  for (const { status, text } of await Promise.all(Array.from({ length: 80 }, ask))) {
    t.equal(status, 429)
    t.match(text, /当前分组上游负载已饱和/)
  }
  t.equal(asked, before)
  t.ok(before <= 4, 'at most once for each worker, while they had not heard yet')
})
