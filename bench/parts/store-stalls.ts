/** How long a gateway under load keeps its event loop at one thing, and what the journal and the store have to do with it. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { KEY, startGateway, startUpstream } from './subjects.ts'
import { chatBody } from './workloads.ts'

const REQUESTS = 15_000
const CONNECTIONS = 8

export interface Stalls {
  perSecond: number
  max: number
  p99: number
  /** ms, by what was done. */
  longest: Record<string, number>
}

function load(port: number, requests: number): number {
  const order = {
    host: '127.0.0.1',
    port,
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: chatBody(200, false),
    connections: CONNECTIONS,
    requests,
    stream: false,
  }
  const script = path.join(import.meta.dirname, 'load.ts')
  const run = spawnSync(process.execPath, [script], { encoding: 'utf8', input: JSON.stringify(order) })
  if (run.status !== 0) throw new Error(`load failed: ${run.stderr}`)
  return (JSON.parse(run.stdout) as { perSecond: number }).perSecond
}

export async function measureStalls(url: string): Promise<Stalls> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-stalls-'))
  const file = path.join(folder, 'stalls.json')
  const upstream = await startUpstream()
  const preload = path.join(import.meta.dirname, 'store-stalls-preload.ts')
  const env = { STALLS_FILE: file, NODE_OPTIONS: `--import=${preload}` }
  const gateway = await startGateway(upstream.port, undefined, 'gateway', { store: url }, env)
  const tell = async () => {
    process.kill(gateway.pid, 'SIGUSR2')
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  try {
    load(gateway.port, REQUESTS / 3)
    await tell()
    const perSecond = load(gateway.port, REQUESTS)
    await tell()
    while (!existsSync(file)) await tell()
    return { perSecond, ...(JSON.parse(readFileSync(file, 'utf8')) as Omit<Stalls, 'perSecond'>) }
  } finally {
    await gateway.stop()
    await upstream.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
