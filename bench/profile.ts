/**
 * `npm run profile [-- --only burst]`: the gateway under the canonical workload (small JSON) or another one, profiled.
 * Writes data/profile.svg, a flame graph, and data/profile.cpuprofile for the tools that read it; prints time by layer.
 */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { byLayer, type CpuProfile, flameSvg, fold } from './parts/flame.ts'
import { KEY, ROOT, startGateway, startUpstream } from './parts/subjects.ts'
import { chatBody, WORKLOADS, type Workload } from './parts/workloads.ts'

const { values } = parseArgs({ options: { only: { type: 'string', default: 'small JSON' } } })
const workload = WORKLOADS.find(w => w.name.includes(values.only)) as Workload
const folder = mkdtempSync(path.join(tmpdir(), 'profile-'))
const upstream = await startUpstream(workload.upstream)
process.env['NODE_OPTIONS'] = `--cpu-prof --cpu-prof-dir=${folder}`
const gateway = await startGateway(upstream.port)
delete process.env['NODE_OPTIONS']

function load(requests: number): void {
  const order = {
    host: '127.0.0.1',
    port: gateway.port,
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: chatBody(workload.bodyBytes, workload.stream),
    connections: Math.min(workload.connections, requests),
    requests,
    stream: workload.stream,
  }
  const script = path.join(import.meta.dirname, 'parts/load.ts')
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8', input: JSON.stringify(order) })
  if (status !== 0) throw new Error(`the load failed: ${stderr}`)
}

load(workload.warmup)
load(workload.requests * 2)
await gateway.stop()
await upstream.stop()

// the store's thread writes one of its own, which is smaller
const files = readdirSync(folder).map(name => path.join(folder, name))
const [file] = files.sort((a, b) => statSync(b).size - statSync(a).size)
if (file === undefined) throw new Error('no profile was written')
const data = path.join(ROOT, 'data')
mkdirSync(data, { recursive: true })
copyFileSync(file, path.join(data, 'profile.cpuprofile'))
const root = fold(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile)
writeFileSync(path.join(data, 'profile.svg'), flameSvg(root))
rmSync(folder, { recursive: true })
console.log('| layer | share |\n|---|---|')
for (const [layer, share] of byLayer(root))
  if (share > 0.005) console.log(`| ${layer} | ${(share * 100).toFixed(1)} % |`)
console.log('\ndata/profile.svg, data/profile.cpuprofile')
