/** Starts the processes of a bench, waits for them, ends them, and reads from /proc what they cost. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Reading } from './probe.ts'

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/**
 * Linux gives each session its share of the processors first, and then divides that among its processes. So every subject is a session of
 * its own, as a service is: one that shared the session of the load would wait for the load, and another one would not.
 */
export const OWN_SESSION = { detached: true } as const

/** Ends the child together with this process. */
export function keep(child: ChildProcess): ChildProcess {
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Sends SIGTERM, after a while SIGKILL, and waits for the end. */
export async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), END_MS)
  await endedWith(child)
  clearTimeout(late)
}
const END_MS = 10_000

/** Ends every process that still runs. */
export async function endAll(): Promise<void> {
  await Promise.all([...running].map(end))
}

export interface Part {
  child: ChildProcess
  port: number
  stop(): Promise<void>
}

/**
 * Runs a program and waits for a line of JSON for which `isReady` is true. The program shares this process's standard
 * error.
 */
export function startPart(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  isReady: (line: Record<string, unknown>) => number | null,
): Promise<Part> {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    ...OWN_SESSION,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  keep(child)
  return new Promise((resolve, reject) => {
    child.once('exit', code => reject(new Error(`${command} ${args.join(' ')} ended with ${code} before it was ready`)))
    let text = ''
    let ready = false
    child.stdout.on('data', data => {
      if (ready) return
      text += data
      for (const line of text.split('\n').slice(0, -1)) {
        const port = line.startsWith('{') ? isReady(JSON.parse(line)) : null
        if (port === null) continue
        ready = true
        resolve({ child, port, stop: () => end(child) })
      }
    })
  })
}

const TICK_US = 10_000

/** The figures of a process without a probe. */
export function readProc(pid: number): Reading {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return {
    userUs: Number(fields[11]) * TICK_US,
    systemUs: Number(fields[12]) * TICK_US,
    mainThreadUs: null,
    allocatedBytes: null,
    rssBytes: rssOf(pid),
    stallMs: 0,
    stallCpuMs: 0,
  }
}

export const rssOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024

/** Resolves when the process has ended. */
export const endedWith = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })
