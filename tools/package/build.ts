/**
 * `npm pack` makes a package that holds only what runs. Before it packs (`prepack`), this writes `dist`: the program as JavaScript
 * without types, the console's pages, the config that `gateway demo` starts from, and of every package that the program uses the files
 * that Node can load, with their licences, in `dist/node_modules`. The packed package.json therefore names no dependencies, because an
 * installer would fetch their types, maps and second forms of module again. `postpack` puts the project's own package.json back.
 *
 *   node tools/package/build.ts [--to FOLDER]   only dist, in the project or in that folder (config/deploy/install)
 *   node tools/package/build.ts --manifest      dist, and the package's package.json in place of the project's (prepack)
 *   node tools/package/build.ts --restore       the project's package.json again (postpack)
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { parseArgs } from 'node:util'

interface Manifest {
  dependencies?: Record<string, string>
  [name: string]: unknown
}

interface Locked {
  dependencies?: Record<string, string>
  optional?: boolean
}

const ROOT = path.resolve(import.meta.dirname, '../..')
const MANIFEST = path.join(ROOT, 'package.json')
/** Where the project's package.json waits while the package's stands in its place. */
const SAVED = path.join(ROOT, 'dist.package.json')

const SOURCES = ['lib', 'web', 'tools/simulator']
const COPIED = ['config/catalog.yaml', 'config/gateway.yaml', 'LICENSE', 'package.json']
/** Members of package.json that tell nobody anything once the program is packed. */
const OF_DEVELOPERS = ['scripts', 'dependencies', 'devDependencies', 'overrides', 'allowScripts', 'private']
const RUNS = /\.(?:js|mjs|cjs|json|wasm|node)$/
const LICENCE = /^(?:licen[cs]e|copying|notice)/i
/** Packages of types, which other packages name as dependencies although nothing of them is loaded. */
const TYPES_ONLY = /^@types\/|^undici-types$/

const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T

function restore(): void {
  if (existsSync(SAVED)) renameSync(SAVED, MANIFEST)
}

function main(): void {
  const { values } = parseArgs({
    options: {
      to: { type: 'string', default: ROOT },
      manifest: { type: 'boolean', default: false },
      restore: { type: 'boolean', default: false },
    },
  })
  restore() // a run that was interrupted may have left the other one behind
  if (values.restore) return
  const dist = path.join(path.resolve(values.to), 'dist')
  rmSync(dist, { recursive: true, force: true })
  for (const source of SOURCES) writeSources(source, dist)
  for (const file of COPIED) cpSync(path.join(ROOT, file), path.join(dist, file))
  for (const folder of runtimePackages()) copyPackage(folder, dist)
  if (!values.manifest) return
  const manifest = readJson<Manifest>(MANIFEST)
  renameSync(MANIFEST, SAVED)
  const packed = Object.fromEntries(Object.entries(manifest).filter(([name]) => !OF_DEVELOPERS.includes(name)))
  writeFileSync(MANIFEST, `${JSON.stringify(packed, null, 2)}\n`)
}

/** Each file of TypeScript becomes one of JavaScript beside it; pages stay as well, because the console strips them when it serves them. */
function writeSources(folder: string, dist: string): void {
  for (const entry of readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    const target = path.join(dist, path.relative(ROOT, file))
    mkdirSync(path.dirname(target), { recursive: true })
    if (!file.endsWith('.ts') || folder === 'web') cpSync(file, target)
    if (file.endsWith('.ts')) writeFileSync(`${target.slice(0, -3)}.js`, toJavaScript(readFileSync(file, 'utf8')))
  }
}

/** Imports, and addresses of threads and processes, name the file of JavaScript. */
const toJavaScript = (text: string): string =>
  stripTypeScriptTypes(text).replaceAll(/(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g, '$1$2.js$1')

/** The folders of the packages that the program needs, and of those that these need, below the project's. */
function runtimePackages(): string[] {
  const { packages } = readJson<{ packages: Record<string, Locked> }>(path.join(ROOT, 'package-lock.json'))
  const found = new Set<string>()
  const visit = (from: string) => {
    for (const name of Object.keys(packages[from]?.dependencies ?? {})) {
      if (TYPES_ONLY.test(name)) continue
      const folder = folderOf(name, from, packages)
      if (found.has(folder)) continue
      found.add(folder)
      visit(folder)
    }
  }
  visit('')
  return [...found]
}

/** A package is taken, as by Node, from the nearest `node_modules` above the one that imports it. */
function folderOf(name: string, from: string, packages: Record<string, Locked>): string {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const folder = path.posix.join(at, 'node_modules', name)
    if (folder in packages) return folder
    if (at === '')
      throw new Error(`package-lock.json has no ${name}, which ${from === '' ? 'package.json' : from} needs`)
  }
}

function copyPackage(folder: string, dist: string): void {
  const source = path.join(ROOT, folder)
  if (!existsSync(source)) throw new Error(`${folder} is missing: run 'npm ci' first`)
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name)
    if (!entry.isFile() || file.slice(source.length).includes('/node_modules/')) continue
    if (RUNS.test(entry.name) || LICENCE.test(entry.name))
      cpSync(file, path.join(dist, folder, path.relative(source, file)))
  }
}

main()
