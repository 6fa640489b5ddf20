/** Starting the parts of a bench, waiting for them, and reading what they cost from /proc. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

export interface Part {
  child: ChildProcess
  port: number
  stop(): Promise<void>
}

/** Runs a program and waits for a line of JSON that `isReady`. Its standard error is ours. */
export function startPart(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  isReady: (line: Record<string, unknown>) => number | null,
): Promise<Part> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  const stop = () =>
    new Promise<void>(resolve => {
      if (child.exitCode !== null || child.signalCode !== null) resolve()
      child.once('exit', () => resolve())
      child.kill('SIGTERM')
      setTimeout(() => child.kill('SIGKILL'), 5000).unref()
    })
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
        resolve({ child, port, stop })
      }
    })
  })
}

/** CPU time of a process and the children it has waited for, in seconds. */
export function cpuOf(pid: number): { userS: number; systemS: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const TICKS_PER_S = 100
  return { userS: Number(fields[11]) / TICKS_PER_S, systemS: Number(fields[12]) / TICKS_PER_S }
}

export const rssOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
