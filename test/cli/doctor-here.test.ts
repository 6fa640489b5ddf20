/** `gateway doctor` on this machine: a healthy one, and one where each group has something wrong. */
import { DatabaseSync } from 'node:sqlite'
import { mkdirSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { commandLine } from '../support/command-line.ts'
import { ADMIN_TOKEN, KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { freePort } from '../support/ports.ts'

const run = commandLine()
const checksOf = (stdout: string) =>
  (JSON.parse(stdout) as { checks: { address: string; check: string; result: string; says: string; mend: string }[] })
    .checks

t.test('a gateway that is well: a line for each group, exit 0', async t => {
  const gateway = await openGateway()
  t.teardown(() => gateway.stop())
  const { hostname, port } = new URL(gateway.ops)
  const public_ = { main: gateway.main, direct: gateway.direct }
  const config = {
    store: `sqlite:${gateway.folder}/gateway.db`,
    journal: `${gateway.folder}/journal`,
    admin_token: ADMIN_TOKEN,
    listen: { ops: `${hostname}:${port}` },
    public: public_,
  }
  const folder = t.testdir({ 'c.yaml': JSON.stringify(config) })
  const { status, stdout } = await run(['doctor', '--deep', '--config', 'c.yaml', '--json'], folder)
  const checks = checksOf(stdout)
  t.strictSame(
    checks.filter(({ result }) => result === 'problem'),
    [],
  )
  t.equal(status, 0)
  for (const group of ['config', 'journal', 'store', 'books', 'gateway', 'console', 'upstream'])
    t.ok(
      checks.some(({ address, result }) => address === group && result === 'ok'),
      group,
    )
  t.ok(
    checks.some(({ address, says }) => address === 'upstream' && / answers$/.test(says)),
    'an upstream was asked',
  )
})

t.test('what failed while clients were served, and who tries tokens', async t => {
  const port = await freePort()
  const model = { name: 'm', price: { input: 2, output: 8 } }
  const channel = { name: 'away', protocols: ['chat'], key: 'k', groups: ['default'], models: ['m'] }
  const gateway = await openGateway({
    catalog: () => ({
      models: [model],
      channels: [{ ...channel, base_url: `http://127.0.0.1:${port}` }],
      accounts: [{ name: 'a', balance: 1 }],
      keys: [{ account: 'a', name: 'k', secret: KEY }],
    }),
  })
  t.teardown(() => gateway.stop())
  const config = `${gateway.folder}/gateway.yaml`
  const doctor = async () => (await run(['doctor', '--config', config], gateway.folder)).stdout
  const before = await doctor()
  t.match(before, /^✓ gateway: tokens: no admin call came with a wrong token/m)
  t.notMatch(before, /failed within the last hour/)
  const asked = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answer = await fetch(`${gateway.main}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(asked),
  })
  await answer.arrayBuffer()
  t.ok(answer.status >= 500, `${answer.status}`)
  await fetch(`${gateway.ops}/admin/groups`, { headers: { authorization: 'Bearer of-somebody-else' } })
  const after = await doctor()
  t.match(after, /^[!✗] upstream: away: failed within the last hour: connect: \d+; at last: .*ECONNREFUSED/m)
  t.match(after, /^ {4}gateway channels show away$/m)
  t.match(after, /^! gateway: tokens: 1 admin calls came with a wrong token, or none/m)
  t.match(await run(['channels', 'list', '--config', config], gateway.folder), {
    stdout: /^away\t(closed|open|half_open)\t(-|failed)\tconnect: \d+\t/,
  })
})

t.test('a gateway that is ill: each group says what mends it, exit 1', async t => {
  const folder = t.testdir({
    'c.yaml': JSON.stringify({
      store: 'sqlite:b.db',
      journal: 'j',
      admin_token: 'a-long-token-for-this',
      listen: { main: '127.0.0.1:3', direct: '127.0.0.1:4', ops: '127.0.0.1:5' },
    }),
    'cat.yaml': JSON.stringify({
      groups: [{ name: 'default' }],
      models: [{ name: 'm', price: { input: 2, output: 8 } }],
      channels: [
        {
          name: 'dns',
          base_url: 'https://no-such-name.invalid',
          protocols: ['chat'],
          key: 'k',
          groups: ['default'],
          models: ['m'],
        },
        {
          name: 'tls',
          base_url: 'https://localhost:1',
          protocols: ['chat'],
          key: 'k',
          groups: ['default'],
          models: ['m'],
        },
      ],
      accounts: [{ name: 'a', balance: 1 }],
    }),
  })
  const command = (...args: string[]) => run([...args, '--config', 'c.yaml'], folder)
  t.match(await command('apply', 'cat.yaml', '--force'), { status: 0 })
  const books = new DatabaseSync(`${folder}/b.db`)
  books.exec("UPDATE purses SET credit = credit + 1 WHERE id = 'a1'")
  books.close()
  mkdirSync(`${folder}/j`, { recursive: true })
  writeFileSync(`${folder}/j/x.aside`, '{}\n')
  const { status, stdout } = await command('doctor')
  t.equal(status, 1)
  for (const line of [
    /^✗ journal: set aside: 1 charges/m,
    /^✓ store: answer: it takes writes/m,
    /^✗ books: audit: 1 accounts do not balance, by 0\.000001 CNY\n {4}gateway audit names/m,
    /^✗ gateway: ready: http:\/\/127\.0\.0\.1:5 does not answer/m,
    /^! console: main address: http:\/\/127\.0\.0\.1:3: links/m,
    /^✗ console: page: http:\/\/127\.0\.0\.1:3 cannot be reached from here: ECONNREFUSED/m,
    /^✗ upstream: dns: .*(ENOTFOUND|EAI_AGAIN)/m,
    /^✗ upstream: tls: .*ECONNREFUSED/m,
  ])
    t.match(stdout, line)
})

t.test('a config that cannot be read, and a store that is not there', async t => {
  const folder = t.testdir({
    'bad.yaml': 'listen: 3',
    'c.yaml': JSON.stringify({ store: 'sqlite:none.db', journal: 'j', admin_token: 'a-long-token-for-this' }),
  })
  t.match(await run(['doctor', '--config', 'bad.yaml'], folder), { status: 1, stdout: /^✗ config: file: / })
  t.match(await run(['doctor', '--config', 'c.yaml'], folder), { status: 1, stdout: /^✗ store: answer: .*none\.db/m })
})
