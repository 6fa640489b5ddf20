/** A real gateway as a user starts it, in a folder of its own, against a simulated upstream in this process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import { type Simulator, simulate } from '../../tools/simulator/main.ts'
import { freePorts } from './ports.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
export const BIN = path.join(ROOT, 'bin/gateway')
export const ADMIN_TOKEN = 'admin-token-for-tests'
export const KEY = 'sk-test-rich-0123456789'
export const POOR_KEY = 'sk-test-poor-0123456789'
export const SLOW_KEY = 'sk-test-slow-0123456789'
/** These only end tests that wait in vain: each is far longer than what a busy machine takes. */
const READY_MS = 60_000
const USAGE_MS = 60_000
const STOP_MS = 60_000
const POLL_MS = 30

/** Ends only with the test. */
const STALL_MS = 1e9
/** Part of a directive: the stream stands still after so many events, until `TestGateway.goOn`. */
export const stallAfter = (events: number): string => `stall=${events} stall_ms=${STALL_MS}`

type Json = Record<string, unknown>

export interface OpenGateway {
  main: string
  direct: string
  ops: string
  folder: string
  simulator: Simulator
  admin(method: string, path: string, body?: Json): Promise<Json & { data: Json[] }>
  /** Resolves with the usage rows of an account when there are at least `count`. */
  usage(account: string, count: number): Promise<Json[]>
  /** Resolves with the newest usage row that has these fields, when there is one. */
  usageRow(fields: Json): Promise<Json>
  /** Lets streams that stand still go on, once the gateway, which is one process, has seen which clients have left. */
  goOn(): Promise<void>
  /** The same without asking the gateway, which may have left already. */
  letGoOn(): void
  /** Ends the gateway and removes its folder. Rejects when it had to be killed. */
  stop(): Promise<void>
}

export interface TestGateway extends OpenGateway {
  child: ChildProcess
}

const ALL = ['messages', 'chat', 'responses', 'images', 'generate']
const MODELS = ['alpha-sonnet-5-5', 'beta-4.7', 'gamma-3.8-flash', 'gamma-image-2']

export const testCatalog = (upstream: string): Json => ({
  groups: [
    { name: 'default', rate: { requests: 0, minutes: 1 } },
    // longer than any test
    { name: 'slow', rate: { requests: 1, minutes: 60 } },
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

export interface GatewayOptions {
  config?: Json
  catalog?: (upstream: string) => Json
}

export async function startGateway(
  options: GatewayOptions & {
    bin?: string
    /** Where it listens, with the same three ports as another gateway at another address. */
    at?: { host: string; ports: number[] }
  } = {},
): Promise<TestGateway> {
  const { host, ports } = options.at ?? { host: '127.0.0.1', ports: await freePorts(3) }
  const place = await placeFor(
    options,
    ports.map(port => `${host}:${port}`),
  )
  const child = spawn(options.bin ?? BIN, ['serve', '--config', place.configFile], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const exited = once(child, 'exit')
  const stop = async () => {
    place.stalls.goOn()
    const late = setTimeout(kill, STOP_MS)
    child.kill('SIGTERM')
    const [code, signal] = await exited
    clearTimeout(late)
    process.off('exit', kill)
    await place.remove()
    if (signal === 'SIGKILL') throw new Error(`the gateway did not stop (exit ${code}, ${signal})`)
  }
  try {
    await ready(child, place.ops)
  } catch (error) {
    await stop()
    throw error
  }
  return { ...gatewayAt(place), child, stop }
}

/** A folder with config and catalogue, and a simulated upstream. */
export async function placeFor({ config, catalog = testCatalog }: GatewayOptions, addresses: readonly string[]) {
  const [main, direct, ops] = addresses
  const stalls = new Stalls()
  const simulator = await simulate({ listen: { host: '127.0.0.1', port: 0 }, clock: stalls.clock })
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-test-'))
  const whole = {
    listen: { main, direct, ops },
    store: `sqlite:${folder}/gateway.db`,
    journal: `${folder}/journal`,
    catalog: `${folder}/catalog.yaml`,
    admin_token: ADMIN_TOKEN,
    ...config,
  }
  const configFile = path.join(folder, 'gateway.yaml')
  writeFileSync(path.join(folder, 'catalog.yaml'), JSON.stringify(catalog(simulator.url)))
  writeFileSync(configFile, JSON.stringify(whole))
  const remove = async () => {
    await simulator.close()
    // in this process, what a gateway has begun in its folder may end after it
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
  return {
    ...{ stalls, simulator, folder, configFile, remove },
    ...{ main: `http://${main}`, direct: `http://${direct}`, ops: `http://${ops}` },
  }
}

export function gatewayAt(place: Awaited<ReturnType<typeof placeFor>>): Omit<OpenGateway, 'stop'> {
  const { main, direct, ops, folder, simulator, stalls } = place
  const admin = adminOf(ops)
  return {
    ...{ main, direct, ops, folder, simulator, admin },
    usage: (account, count) =>
      usageWhen(admin, `account=${account}`, rows => (rows.length >= count ? rows : undefined)),
    usageRow: fields =>
      usageWhen(admin, '', rows =>
        rows.find(row => Object.entries(fields).every(([name, value]) => row[name] === value)),
      ),
    async goOn() {
      // What has closed its connection is seen in the turn in which this request is, or in an earlier one.
      await (await fetch(`${main}/v1/models`)).arrayBuffer()
      stalls.goOn()
    },
    letGoOn: () => stalls.goOn(),
  }
}

/** The simulator's clock, which keeps what stands still. */
class Stalls {
  readonly #waiting = new Set<() => void>()
  readonly clock: Clock = {
    ...systemClock,
    after: (ms, fn) => {
      if (ms !== STALL_MS) return systemClock.after(ms, fn)
      this.#waiting.add(fn)
      return () => void this.#waiting.delete(fn)
    },
  }

  goOn(): void {
    for (const fn of this.#waiting) {
      this.#waiting.delete(fn)
      fn()
    }
  }
}

const pause = () => new Promise(resolve => setTimeout(resolve, POLL_MS))

/** Resolves when `/readyz` is 200. Rejects with what the gateway printed when it does not become ready. */
export async function ready(child: ChildProcess, ops: string): Promise<void> {
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', data => (output = (output + data).slice(-20_000)))
  const status = () =>
    fetch(`${ops}/readyz`).then(
      answer => answer.status,
      () => 0,
    )
  for (const until = Date.now() + READY_MS; (await status()) !== 200; await pause())
    if (child.exitCode !== null || Date.now() > until) throw new Error(`the gateway did not start:\n${output}`)
}

export const adminOf =
  (ops: string): TestGateway['admin'] =>
  async (method, path, body) => {
    const answer = await fetch(ops + path, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Json & { data: Json[] }
  }

async function usageWhen<T>(
  admin: TestGateway['admin'],
  query: string,
  wanted: (rows: Json[]) => T | undefined,
): Promise<T> {
  for (const end = Date.now() + USAGE_MS; ; await pause()) {
    const { data } = await admin('GET', `/admin/usage?limit=1000&${query}`)
    const found = wanted(data)
    if (found !== undefined) return found
    if (Date.now() > end) throw new Error(`what was waited for is not in the usage log: ${JSON.stringify(data)}`)
  }
}
