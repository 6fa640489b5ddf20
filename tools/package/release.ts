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

rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER)
const sbom = npm('sbom', '--sbom-format=cyclonedx', '--omit=dev', '--package-lock-only')
npm('pack', '--pack-destination', FOLDER)
const [tarball] = readdirSync(FOLDER) as [string]
writeFileSync(path.join(FOLDER, tarball.replace(/\.tgz$/, '.cdx.json')), sbom)
const sums = readdirSync(FOLDER).map(name => {
  const sum = createHash('sha256')
    .update(readFileSync(path.join(FOLDER, name)))
    .digest('hex')
  return `${sum}  ${name}\n`
})
writeFileSync(path.join(FOLDER, 'SHA256SUMS'), sums.join(''))
console.log(`${FOLDER}:\n${sums.join('')}`)
