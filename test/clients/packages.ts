/**
 * `npm run test:install`: what only tests need, official SDKs among it, by the package.json and the lock file beside this file. They are
 * installed at first use into a folder of the cache that all working copies share, and links in `node_modules` lead to them.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

/** What tests install stays here for the next run. */
export const CACHE = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'gateway/clients')
/** Where they are found. */
export const PACKAGES = path.resolve(import.meta.dirname, '../../node_modules')

const INSTALL_MS = 600_000
const here = (name: string): string => path.join(import.meta.dirname, name)

/** Their names. */
export function packageNames(): string[] {
  const { dependencies } = JSON.parse(readFileSync(here('package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  return Object.keys(dependencies)
}

/** Installs them unless they are there. Returns why they cannot be had, or null. */
export function installPackages(): string | null {
  const version = createHash('sha256')
    .update(readFileSync(here('package-lock.json')))
    .digest('hex')
    .slice(0, 12)
  const folder = path.join(CACHE, `packages-${version}`)
  if (!existsSync(folder)) {
    const why = fill(folder)
    if (why !== null) return why
  }
  for (const name of packageNames()) link(path.join(folder, 'node_modules', name), path.join(PACKAGES, name))
  return null
}

/** A package that is there itself stays. */
function link(target: string, place: string): void {
  const there = lstatSync(place, { throwIfNoEntry: false })
  if (there !== undefined && (!there.isSymbolicLink() || readlinkSync(place) === target)) return
  mkdirSync(path.dirname(place), { recursive: true })
  // by a rename, because other runs may be reading it
  const draft = `${place}.${process.pid}`
  symlinkSync(target, draft)
  renameSync(draft, place)
}

/** A folder is there as a whole or not at all: several runs may install at the same time. */
function fill(folder: string): string | null {
  mkdirSync(CACHE, { recursive: true })
  const draft = mkdtempSync(`${folder}-`)
  try {
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(here(name), path.join(draft, name))
    console.log(`what only tests need is installed into ${folder}`)
    const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const { status, stderr, error } = spawnSync('npm', words, { cwd: draft, timeout: INSTALL_MS, encoding: 'utf8' })
    if (status !== 0) return `npm ci in ${folder} failed: ${(error?.message ?? stderr).trim().slice(0, 500)}`
    if (!existsSync(folder)) renameSync(draft, folder)
    return null
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const why = installPackages()
  if (why !== null) console.error(why)
  process.exit(why === null ? 0 : 1)
}
