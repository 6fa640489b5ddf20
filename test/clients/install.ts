/** Installs the published tools into a folder outside of the tree, where they stay for the next run. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { CACHE } from './packages.ts'
import type { Tool } from './tool.ts'

const INSTALL_MS = 600_000
const VERSION_MS = 120_000

/** Returns the path of the tool's command, or why it cannot be had on this machine. */
export async function install(tool: Tool): Promise<{ command: string } | { missing: string }> {
  const installed = await installPackage(tool.package, tool.version, tool.name, tool.beside)
  if ('missing' in installed) return installed
  const { folder } = installed
  const command =
    tool.program === undefined
      ? path.join(folder, 'node_modules/.bin', tool.bin)
      : await program(path.join(folder, `${tool.bin}.mjs`), tool.program)
  // native parts are packages of their own, and not there for every system
  const { code, output } = await run(command, ['--version'], folder, VERSION_MS, { ...process.env, HOME: folder })
  if (code !== 0) return { missing: `--version ended with ${code}: ${output.slice(-500)}` }
  if (!output.includes(tool.version)) return { missing: `--version says: ${output.slice(-500)}` }
  return { command }
}

async function program(file: string, text: string): Promise<string> {
  await writeFile(file, `#!${process.execPath}\n${text}`)
  await chmod(file, 0o755)
  return file
}

/** Returns the folder in whose `node_modules` the package is, or why it cannot be had. */
export async function installPackage(
  name: string,
  version: string,
  as: string,
  beside: readonly string[] = [],
): Promise<{ folder: string } | { missing: string }> {
  const folder = path.join(CACHE, `${as}-${version}`)
  if (existsSync(path.join(folder, 'node_modules', name))) return { folder }
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'package.json'), '{"private":true}')
  const words = ['install', '--no-audit', '--no-fund', '--save-exact', `${name}@${version}`, ...beside]
  const { code, output } = await run('npm', words, folder, INSTALL_MS)
  return code === 0 ? { folder } : { missing: `npm install ended with ${code}: ${output.slice(-500)}` }
}

function run(command: string, args: string[], cwd: string, timeout: number, env: NodeJS.ProcessEnv = process.env) {
  return new Promise<{ code: number | null; output: string }>(resolve => {
    let output = ''
    const child = spawn(command, args, { cwd, timeout, stdio: ['ignore', 'pipe', 'pipe'], env })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += data))
    child.on('error', error => resolve({ code: null, output: error.message }))
    child.on('close', code => resolve({ code, output }))
  })
}
