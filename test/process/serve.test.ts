/** `gateway serve` as whoever started it sees it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const GATEWAY = fileURLToPath(new URL('../../bin/gateway', import.meta.url))
const ANY_PORT = '127.0.0.1:0'

/** Started in a folder of its own; `config` may be written again for a reload. */
function serve(t: Test, config: object) {
  const folder = t.testdir({})
  const write = (change: object = {}) =>
    writeFileSync(
      `${folder}/gateway.yaml`,
      JSON.stringify({
        listen: { main: ANY_PORT, direct: ANY_PORT, ops: ANY_PORT },
        store: 'sqlite:books.db',
        journal: 'journal',
        admin_token: 'the-first-token',
        ...config,
        ...change,
      }),
    )
  write()
  const child: ChildProcess = spawn(GATEWAY, ['serve', '--config', 'gateway.yaml'], { cwd: folder })
  t.teardown(async () => {
    child.kill()
    if (child.exitCode === null) await once(child, 'exit')
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value as string) as Record<string, string>
  return { child, write, next }
}

for (const workers of [1, 2])
  t.test(`workers: ${workers}, ready is said at every level, with the addresses there are`, async t => {
    const { next } = serve(t, { workers, log: { level: 'silent' } })
    const line = await next()
    t.match(line, { msg: 'ready', workers })
    for (const [address, path, status] of [
      [line['main'], '/v1/models', 401],
      [line['direct'], '/v1/models', 401],
      [line['ops'], '/readyz', 200],
    ] as const)
      t.equal((await fetch(`${address}${path}`)).status, status, `${address}${path}`)
    const metrics = await (await fetch(`${line['ops']}/metrics`)).text()
    const values = new Map(
      [...metrics.matchAll(/^(gateway_\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]),
    )
    for (const [name, least, most] of [
      ['gateway_ready', 1, 1],
      ['gateway_config_reload_success', 1, 1],
      ['gateway_time_seconds', Date.now() / 1000 - 60, Date.now() / 1000],
      ['gateway_config_reload_timestamp_seconds', Date.now() / 1000 - 60, Date.now() / 1000],
      ['gateway_disk_free_bytes{what="journal"}', 1, Infinity],
      ['gateway_disk_free_bytes{what="store"}', 1, Infinity],
      ['gateway_connections', 0, 10],
    ] as const) {
      const value = values.get(name)
      t.ok(value !== undefined && value >= least && value <= most, `${name} is ${value}`)
    }
  })

t.test('a reload follows the admin token and the level of the log', async t => {
  const { child, write, next } = serve(t, {})
  const { ops } = await next()
  const asks = async (token: string) =>
    (await fetch(`${ops}/admin/groups`, { headers: { authorization: `Bearer ${token}` } })).status
  t.equal(await asks('the-first-token'), 200)
  write({ admin_token: 'the-second-token' })
  child.kill('SIGHUP')
  t.match(await next(), { level: 'warn', settings: ['secret'] }, 'which is made from the token, and stays')
  t.match(await next(), { msg: 'reloaded', settings: ['admin_token'], rows: {} }, 'what is another now, without values')
  t.same([await asks('the-first-token'), await asks('the-second-token')], [401, 200])
  t.match(await next(), { level: 'warn', msg: 'an admin call was not let in' })
  write({ log: { level: 'error' } }) // and the first token
  child.kill('SIGHUP')
  // until then the second token is right: many wrong ones would be turned away for a minute
  while ((await asks('the-second-token')) === 200) await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(await asks('the-first-token'), 200)
  const metrics = async () => (await fetch(`${ops}/metrics`)).text()
  t.match(await metrics(), /^gateway_config_reload_success 1$/m)
  write({ catalog: 'nowhere.yaml' })
  child.kill('SIGHUP')
  t.match(await next(), { level: 'error', msg: /^reload refused/ }, 'nothing of less importance stands before it')
  t.match(await metrics(), /^gateway_config_reload_success 0$/m)
})
