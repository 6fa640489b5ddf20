/** What one worker learns of an upstream that is too busy, all workers of the gateway know. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { commandLine } from '../support/command-line.ts'
import { ADMIN_TOKEN, startGateway } from '../support/gateway.ts'
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

t.test('all workers together say why a channel fails, rest it by hand, wake it and try it out', async t => {
  const { admin } = gateway
  const look = async () => (await admin('GET', '/admin/channels/a'))['health'] as Record<string, unknown>
  t.match(await look(), {
    lately: { busy: asked },
    failures: [{ class: 'busy', status: 429, model: 'm', key: 1 }],
  })
  t.match(await admin('POST', '/admin/channels/a/rest', { for: '1h' }), { state: 'open', why: 'hand' })
  const before = asked
  for (const { status } of await Promise.all(Array.from({ length: 24 }, ask))) t.not(status, 200)
  t.equal(asked, before, 'no worker asks it')
  const tried = await admin('POST', '/admin/channels/a/test', {})
  t.match(tried.data, [{ model: 'm', protocol: 'chat', ok: false, class: 'busy', status: 429, reason: /slow/ }])
  t.equal(asked, before + 1)
  t.match(await admin('POST', '/admin/channels/a/wake', {}), { state: 'closed', why: null })
  await ask()
  t.ok(asked > before + 1)
})

t.test('commands about a channel ask the gateway whose ops address the config names', async t => {
  const { hostname, port } = new URL(gateway.ops)
  const config = { store: 'sqlite:none.db', admin_token: ADMIN_TOKEN, listen: { ops: `${hostname}:${port}` } }
  const folder = t.testdir({ 'c.yaml': JSON.stringify(config) })
  const run = commandLine()
  const command = (...args: string[]) => run([...args, '--config', 'c.yaml'], folder)
  t.match(await command('channels', 'rest', 'a', '--for', '1m'), { status: 0, stdout: /^why\thand$/m })
  t.match(await command('channels', 'show', 'a'), { status: 0, stdout: /^health\t\{"state":"open","why":"hand"/m })
  t.match(await command('channels', 'test', 'a'), { status: 0, stdout: /^m\tchat\tfalse\tbusy\t429\t/ })
  t.match(await command('channels', 'wake', 'a', '--json'), { status: 0, stdout: /^\{"state":"closed"/ })
  t.match(await command('channels', 'wake', 'none'), { status: 3, stderr: /there is no channel none/ })
})

t.test('what all workers refused is counted, and the counts are in the store', async t => {
  await until('it is written', async () => {
    const { refused, data } = await gateway.admin('GET', '/admin/refusals/counts?by=account')
    const ofReason = data.filter(row => row['account'] === 'one')
    return (refused as number) >= 100 && ofReason.length > 0
  })
  t.match((await gateway.admin('GET', '/admin/refusals?account=one&limit=1')).data, [{ account: 'one', reason: /\w/ }])
})
