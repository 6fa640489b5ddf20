/**
 * `npm run profile [-- --only burst]`: profiles the gateway under the workload small JSON, or another one. Of a workload that is
 * translated, `--native` profiles the lane that it is compared with. Writes a flame graph (data/profile.svg) and
 * data/profile.cpuprofile for other tools, and prints the time by layer.
 */
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
import { scriptOptions } from '../test/support/script.ts'
import { closedOrder } from './kinds/closed.ts'
import { loadRightly } from './kinds/context.ts'
import { translatedOrder } from './kinds/translated.ts'
import { byLayer, type CpuProfile, flameSvg, fold } from './parts/flame.ts'
import { ROOT, startGateway, startUpstream } from './parts/subjects.ts'
import { WORKLOADS } from './parts/workloads.ts'

const values = scriptOptions(import.meta.filename, {
  only: { type: 'string', default: 'small JSON' },
  native: { type: 'boolean', default: false },
})
const workload = WORKLOADS.filter(w => w.kind === 'closed' || w.kind === 'translated').find(w =>
  w.name.includes(values.only),
)
if (workload === undefined) throw new Error(`there is no workload ${values.only} in a closed loop`)
const folder = mkdtempSync(path.join(tmpdir(), 'profile-'))
const upstream = await startUpstream(workload.upstream ?? {})
process.env['NODE_OPTIONS'] = `--cpu-prof --cpu-prof-dir=${folder}`
const gateway = await startGateway(upstream.port)
delete process.env['NODE_OPTIONS']

for (const requests of [workload.warmup, workload.requests * 4])
  await loadRightly(
    workload.kind === 'closed'
      ? closedOrder(workload, gateway, requests)
      : translatedOrder(workload, gateway, values.native ? workload.upstreamProtocol : workload.client, requests),
  )

await gateway.stop()
await upstream.stop()

// the thread of the store writes a profile too, which is smaller
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
