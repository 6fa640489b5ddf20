/**
 * `npm run release`: writes what a release consists of into `release`: the package of `npm pack`, the list of the packages in it with
 * versions and licences (CycloneDX, a software bill of materials), and the SHA-256 checksums of both.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')
const FOLDER = path.join(ROOT, 'release')

const npm = (...args: string[]): Buffer =>
  execFileSync('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })

interface Bill {
  components: { name: string; version: string; 'bom-ref': string }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/** What the lock file installs without what is only for tests. `npm sbom --omit=dev` leaves out packages of ours that tests need, too. */
function bill(): string {
  const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { name?: string; version: string; dev?: true; devOptional?: true }>
  }
  const ours = new Set(
    Object.entries(lock.packages)
      .filter(([, { dev, devOptional }]) => !dev && !devOptional)
      .map(([at, { name, version }]) => `${name ?? at.split('node_modules/').at(-1)}@${version}`),
  )
  const all = JSON.parse(npm('sbom', '--sbom-format=cyclonedx', '--package-lock-only').toString()) as Bill
  const components = all.components.filter(({ name, version }) => ours.has(`${name}@${version}`))
  const gone = new Set(all.components.filter(one => !components.includes(one)).map(one => one['bom-ref']))
  const dependencies = all.dependencies
    .filter(({ ref }) => !gone.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(one => !gone.has(one)) }))
  return `${JSON.stringify({ ...all, components, dependencies }, null, 2)}\n`
}

rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER)
npm('pack', '--pack-destination', FOLDER)
const [tarball] = readdirSync(FOLDER) as [string]
writeFileSync(path.join(FOLDER, tarball.replace(/\.tgz$/, '.cdx.json')), bill())
const sums = readdirSync(FOLDER).map(name => {
  const sum = createHash('sha256')
    .update(readFileSync(path.join(FOLDER, name)))
    .digest('hex')
  return `${sum}  ${name}\n`
})
writeFileSync(path.join(FOLDER, 'SHA256SUMS'), sums.join(''))
console.log(`${FOLDER}:\n${sums.join('')}`)
