/** Installs the published tools into a folder outside of the tree, where they stay for the next run. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { CACHE } from './packages.ts'
import type { Tool } from './tool.ts'

const INSTALL_MS = 600_000
const VERSION_MS = 120_000
/** What installs packages of Python, and a version that all of them run on. */
const UV = 'uv==0.13.9'
const PYTHON = '>=3.11,<3.13'

/** Returns the path of the tool's command, or why it cannot be had on this machine. */
export async function install(tool: Tool): Promise<{ command: string } | { missing: string }> {
  const isPython = tool.registry === 'pypi'
  const installed = await (isPython ? installPython : installPackage)(
    tool.package,
    tool.version,
    tool.folder ?? tool.name,
    tool.beside,
  )
  if ('missing' in installed) return installed
  const { folder } = installed
  const bin = path.join(folder, isPython ? 'bin' : 'node_modules/.bin')
  const command =
    tool.program === undefined
      ? path.join(bin, tool.bin)
      : isPython
        ? await program(path.join(folder, `run-${tool.bin}.py`), path.join(bin, 'python'), tool.program)
        : await program(path.join(folder, `${tool.bin}.mjs`), process.execPath, tool.program)
  // native parts are packages of their own, and not there for every system
  const { code, output } = await run(command, ['--version'], folder, VERSION_MS, { ...process.env, HOME: folder })
  if (code !== 0) return { missing: `--version ended with ${code}: ${output.slice(-500)}` }
  if (!output.includes(tool.version)) return { missing: `--version says: ${output.slice(-500)}` }
  return { command }
}

async function program(file: string, interpreter: string, text: string): Promise<string> {
  await writeFile(file, `#!${interpreter}\n${text}`)
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

/** A package of Python, in an environment of its own. What is there is not asked for again. */
async function installPython(
  name: string,
  version: string,
  as: string,
  beside: readonly string[] = [],
): Promise<{ folder: string } | { missing: string }> {
  const folder = path.join(CACHE, `${as}-${version}`)
  const uv = path.join(CACHE, 'uv/bin/uv')
  const python = path.join(folder, 'bin/python')
  const steps: (readonly [makes: string | null, command: string, ...args: string[]])[] = [
    [uv, 'python3', '-m', 'venv', path.join(CACHE, 'uv')],
    [uv, path.join(CACHE, 'uv/bin/pip'), 'install', '--quiet', UV],
    [python, uv, 'venv', '--quiet', '--python', PYTHON, folder],
    [null, uv, 'pip', 'install', '--quiet', '--python', python, `${name}==${version}`, ...beside],
  ]
  for (const [makes, command, ...args] of steps) {
    if (makes !== null && existsSync(makes)) continue
    const { code, output } = await run(command, args, CACHE, INSTALL_MS)
    if (code !== 0) return { missing: `${command} ${args[0]} ended with ${code}: ${output.slice(-500)}` }
  }
  return { folder }
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
