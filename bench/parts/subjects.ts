/**
 * Starts what is measured: the gateway of any checkout with every feature on, the bare relay, and the upstream of both.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '../../test/support/ports.ts'
import { servingOf } from '../../test/support/processes.ts'
import { BARE, GATEWAY } from '../report/targets.ts'
import type { Reading } from './probe.ts'
import { end, keep, OWN_SESSION, type Part, readProc, rssOf, startPart } from './process.ts'
import { type Lane, MODEL_OF } from './translated-workloads.ts'

export const ROOT = path.resolve(import.meta.dirname, '../..')
export const KEY = 'sk-bench-0123456789abcdef'

const READY_MS = 15_000
const POLL_MS = 5

export interface Subject {
  name: string
  /** The id of the process that serves. */
  pid: number
  port: number
  read(): Promise<Reading>
  rssBytes(): number
  /** The address of the ops listener; null where there is none. */
  ops: string | null
  stop(): Promise<void>
}

export const startUpstream = (env: NodeJS.ProcessEnv = {}): Promise<Part> =>
  startPart(process.execPath, [path.join(import.meta.dirname, 'upstream.ts')], env, line =>
    line['ready'] === true ? Number(line['port']) : null,
  )

const ofPart = (name: string, part: Part, ops: string | null = null): Subject => ({
  name,
  pid: part.child.pid as number,
  port: part.port,
  read: async () => readProc(part.child.pid as number),
  rssBytes: () => rssOf(part.child.pid as number),
  ops,
  stop: () => part.stop(),
})

/** Starts the bare relay or, without an upstream, the bare refusal. */
export async function startBare(upstreamPort: number | null, env: NodeJS.ProcessEnv = {}): Promise<Subject> {
  const script = path.join(import.meta.dirname, upstreamPort === null ? 'bare-refusal.ts' : 'bare.ts')
  const all = { ...env, UPSTREAM: `http://127.0.0.1:${upstreamPort}` }
  return ofPart(BARE, await startPart(process.execPath, [script], all, line => Number(line['port'])))
}

/**
 * Starts a gateway with every feature on: rate limit, allowlist, cap, usage, log to a file. `root`: the checkout;
 * `readyMs`: how long its start took.
 */
export async function startGateway(
  upstreamPort: number,
  root: string = ROOT,
  name: string = GATEWAY,
  overrides: object = {},
  env: NodeJS.ProcessEnv = {},
): Promise<Subject & { readyMs: number; supervisor: number }> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-'))
  const [main, direct, ops] = (await freePorts(3)) as [number, number, number]
  const at = (port: number) => `127.0.0.1:${port}`
  const config = {
    listen: { main: at(main), direct: at(direct), ops: at(ops) },
    store: `sqlite:${dir}/gateway.db`,
    journal: `${dir}/journal`,
    catalog: `${dir}/catalog.yaml`,
    admin_token: 'bench-admin-token',
    ...overrides,
  }
  writeFileSync(path.join(dir, 'gateway.yaml'), JSON.stringify(config))
  writeFileSync(path.join(dir, 'catalog.yaml'), JSON.stringify(catalog(upstreamPort)))
  const log = path.join(dir, 'gateway.log')
  const beganMs = performance.now()
  const child = spawn('sh', ['-c', `exec '${root}/bin/gateway' serve --config '${dir}/gateway.yaml' > '${log}'`], {
    env: { ...process.env, ...env },
    ...OWN_SESSION,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  keep(child)
  const ready = () => readFileSync(log, 'utf8').includes('"msg":"ready"')
  for (; !(existsSync(log) && ready()); await sleep(POLL_MS))
    if (performance.now() - beganMs > READY_MS || child.exitCode !== null)
      throw new Error(`the gateway of ${root} did not start: see ${log}`)
  const readyMs = performance.now() - beganMs
  const pid = servingOf(child.pid as number)
  return {
    name,
    pid,
    supervisor: child.pid as number,
    port: main,
    ops: `http://${at(ops)}`,
    readyMs,
    read: async () => readProc(pid),
    rssBytes: () => rssOf(pid),
    async stop() {
      await end(child)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const price = { input: 2, output: 8, cache_read: 0.5 }
/** Each model has an upstream of one protocol, so that clients of the other one are answered by translation. */
const channel = (name: string, protocol: Lane, upstreamPort: number): object => ({
  name,
  base_url: `http://127.0.0.1:${upstreamPort}`,
  protocols: [protocol],
  key: 'up',
  groups: ['default'],
  models: [MODEL_OF[protocol]],
})

const catalog = (upstreamPort: number): object => ({
  groups: [{ name: 'default', rate: { requests: 100_000_000, minutes: 1 } }],
  models: Object.values(MODEL_OF).map(name => ({ name, price })),
  channels: [channel('one', 'chat', upstreamPort), channel('two', 'messages', upstreamPort)],
  accounts: [{ name: 'bench', groups: ['default'], balance: 100_000_000 }],
  keys: [{ account: 'bench', name: 'k', secret: KEY, group: 'default', cap: 50_000_000, allow_ips: ['127.0.0.1'] }],
})
