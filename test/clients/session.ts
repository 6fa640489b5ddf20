/** Runs a tool once, headless, in a home folder of its own, with nothing of this process's environment but the path. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { CACHE } from './packages.ts'
import type { Session, Told, Tool } from './tool.ts'

export interface Ran extends Told {
  /** null = it was killed, because its time was over. */
  code: number | null
  seconds: number
  /** Everything that it printed. */
  output: string
  /** The folder that it worked in; removed by `clear`. */
  work: string
  clear(): void
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) killGroup(child)
})

export async function runTool(
  tool: Tool,
  command: string,
  order: Omit<Session, 'home' | 'work'>,
  limitMs: number,
  more: Record<string, string> = {},
): Promise<Ran> {
  mkdirSync(path.join(CACHE, 'runs'), { recursive: true })
  const folder = mkdtempSync(path.join(CACHE, 'runs', `${order.model}-`))
  const session: Session = { ...order, home: path.join(folder, 'home'), work: path.join(folder, 'work') }
  mkdirSync(session.work, { recursive: true })
  mkdirSync(session.home)
  for (const [name, text] of Object.entries(tool.files(session))) {
    mkdirSync(path.dirname(path.join(session.home, name)), { recursive: true })
    writeFileSync(path.join(session.home, name), text)
  }
  const beganMs = Date.now()
  const env = { ...tool.env(session), ...more }
  const { code, stdout, stderr } = await start(command, tool.args(session), session, env, limitMs)
  return {
    ...tool.read(stdout, stderr),
    code,
    seconds: Math.round((Date.now() - beganMs) / 1000),
    output: stdout + stderr,
    work: session.work,
    clear: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function start(command: string, args: string[], { home, work }: Session, env: Record<string, string>, limitMs: number) {
  return new Promise<{ code: number | null; stdout: string; stderr: string }>(resolve => {
    const printed = { stdout: '', stderr: '' }
    const child = spawn(command, args, {
      cwd: work,
      // a group of its own, so that what it starts ends with it
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}`,
        HOME: home,
        LANG: 'en_US.UTF-8',
        ...env,
      },
    })
    running.add(child)
    let late = false
    const timer = setTimeout(() => {
      late = true
      killGroup(child)
    }, limitMs)
    child.stdout.on('data', data => (printed.stdout += data))
    child.stderr.on('data', data => (printed.stderr += data))
    child.on('error', error => (printed.stderr += error.message))
    child.on('close', code => {
      clearTimeout(timer)
      killGroup(child)
      running.delete(child)
      resolve({ code: late ? null : (code ?? -1), ...printed })
    })
  })
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // everything has ended
  }
}
