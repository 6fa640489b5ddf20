/**
 * Measures the longest stalls of the event loop of a gateway under load, and the part that the journal and the store
 * have in them.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadRightly, orderFor } from '../kinds/context.ts'
import { type Subject, startGateway, startUpstream } from './subjects.ts'
import { chatBody } from './workloads.ts'

const REQUESTS = 15_000
const CONNECTIONS = 8

export interface Stalls {
  perSecond: number
  max: number
  p99: number
  /** The longest stall in ms, by what the process did. */
  longest: Record<string, number>
}

async function load(gateway: Subject, requests: number): Promise<number> {
  const kinds = [{ body: chatBody(200, false) }]
  return (await loadRightly(orderFor(gateway, { kinds, connections: CONNECTIONS, requests }))).perSecond
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
    await load(gateway, REQUESTS / 3)
    await tell()
    const perSecond = await load(gateway, REQUESTS)
    await tell()
    while (!existsSync(file)) await tell()
    return { perSecond, ...(JSON.parse(readFileSync(file, 'utf8')) as Omit<Stalls, 'perSecond'>) }
  } finally {
    await gateway.stop()
    await upstream.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
