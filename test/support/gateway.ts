/** A real gateway as a user starts it, in a folder of its own, against a simulated upstream in this process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Simulator, simulate } from '../../lib/simulator/main.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
export const ADMIN_TOKEN = 'admin-token-for-tests'
export const KEY = 'sk-test-rich-0123456789'
export const POOR_KEY = 'sk-test-poor-0123456789'
export const SLOW_KEY = 'sk-test-slow-0123456789'
const READY_MS = 20_000

type Json = Record<string, unknown>

export interface TestGateway {
  main: string
  direct: string
  ops: string
  folder: string
  simulator: Simulator
  child: ChildProcess
  admin(method: string, path: string, body?: Json): Promise<Json & { data: Json[] }>
  /** The usage rows of an account, waited for until there are `count`. */
  usage(account: string, count: number): Promise<Json[]>
  stop(): Promise<void>
}

export async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

const ALL = ['messages', 'chat', 'responses', 'images', 'generate']
const MODELS = ['alpha-sonnet-5-5', 'beta-4.7', 'gamma-3.8-flash', 'gamma-image-2']

export const testCatalog = (upstream: string): Json => ({
  groups: [
    { name: 'default', rate: { requests: 0, minutes: 1 } },
    { name: 'slow', rate: { requests: 1, minutes: 1 } },
  ],
  models: [
    {
      name: 'alpha-sonnet-5-5',
      price: { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6 },
    },
    { name: 'beta-4.7', price: { input: 2, output: 8, cache_read: 0.5 } },
    { name: 'gamma-3.8-flash', price: { input: 1, output: 4, cache_read: 0.25 } },
    { name: 'gamma-image-2', price: { image: 0.28 } },
  ],
  channels: [
    { name: 'sim', base_url: upstream, protocols: ALL, key: 'up', groups: ['default', 'slow'], models: MODELS },
  ],
  accounts: [
    { name: 'rich', groups: ['default', 'slow'], balance: 1000 },
    { name: 'poor', groups: ['default'] },
    { name: 'slow', groups: ['slow'], balance: 10 },
  ],
  keys: [
    { account: 'rich', name: 'k', secret: KEY, group: 'default' },
    { account: 'poor', name: 'k', secret: POOR_KEY, group: 'default' },
    { account: 'slow', name: 'k', secret: SLOW_KEY, group: 'slow' },
  ],
})

export async function startGateway(
  options: { config?: Json; catalog?: (upstream: string) => Json } = {},
): Promise<TestGateway> {
  const simulator = await simulate({ listen: { host: '127.0.0.1', port: 0 } })
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-test-'))
  const [main, direct, ops] = [await freePort(), await freePort(), await freePort()].map(port => `127.0.0.1:${port}`)
  const config = {
    listen: { main, direct, ops },
    store: `sqlite:${folder}/gateway.db`,
    journal: `${folder}/journal`,
    catalog: `${folder}/catalog.yaml`,
    admin_token: ADMIN_TOKEN,
    ...options.config,
  }
  writeFileSync(path.join(folder, 'catalog.yaml'), JSON.stringify((options.catalog ?? testCatalog)(simulator.url)))
  writeFileSync(path.join(folder, 'gateway.yaml'), JSON.stringify(config))
  const child = spawn(path.join(ROOT, 'bin/gateway'), ['serve', '--config', path.join(folder, 'gateway.yaml')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', data => (output = (output + data).slice(-20_000)))
  const url = `http://${ops}`
  const until = Date.now() + READY_MS
  while (
    (await fetch(`${url}/readyz`).then(
      r => r.status,
      () => 0,
    )) !== 200
  ) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`the gateway did not start:\n${output}`)
    await new Promise(resolve => setTimeout(resolve, 30))
  }
  const admin: TestGateway['admin'] = async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Json & { data: Json[] }
  }
  return {
    main: `http://${main}`,
    direct: `http://${direct}`,
    ops: url,
    folder,
    simulator,
    child,
    admin,
    async usage(account, count) {
      for (const end = Date.now() + 5_000; ; await new Promise(resolve => setTimeout(resolve, 30))) {
        const { data } = await admin('GET', `/admin/usage?account=${account}&limit=1000`)
        if (data.length >= count) return data
        if (Date.now() > end) throw new Error(`only ${data.length} of ${count} usage rows came`)
      }
    },
    async stop() {
      const exited = new Promise<void>(resolve =>
        child.exitCode === null ? child.once('exit', () => resolve()) : resolve(),
      )
      child.kill('SIGTERM')
      await exited
      await simulator.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
