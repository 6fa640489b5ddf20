/**
 * `bin/gateway ARGS` in a folder. `runBin` starts it as a user does. `commandLine` runs commands one after the other in one
 * process, because the start of a process costs far more than what most of them do; it is for those that end by themselves.
 */
import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { BIN } from './gateway.ts'

/** `columns`: the width of the terminal that the command believes to write to; without it, it writes into a pipe. */
interface CommandSurroundings {
  env?: Record<string, string>
  columns?: number
}

export interface Asked extends CommandSurroundings {
  args: string[]
  cwd: string
}

export interface Ended {
  status: number | null
  stdout: string
  stderr: string
}

export function runBin(args: string[], cwd: string, bin = BIN, env: NodeJS.ProcessEnv = {}): Ended {
  const { status, stdout, stderr } = spawnSync(bin, args, { cwd, encoding: 'utf8', env: { ...process.env, ...env } })
  return { status, stdout, stderr }
}

export type RunCommand = (args: string[], cwd: string, around?: CommandSurroundings) => Promise<Ended>

/** The process ends with `t`. `env`: what Node itself reads when the process starts. */
export function commandLine(t: Pick<Test, 'teardown'>, env: Record<string, string> = {}): RunCommand {
  const child = fork(fileURLToPath(new URL('command-server.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { ...process.env, ...env },
  })
  const exited = once(child, 'exit').then(([code]) =>
    Promise.reject(new Error(`the process of commands: exit ${code}`)),
  )
  exited.catch(() => {})
  t.teardown(() => child.kill())
  return async (args, cwd, around = {}) => {
    const answered = once(child, 'message')
    child.send({ args, cwd, ...around } satisfies Asked)
    const [ended] = (await Promise.race([answered, exited])) as [Ended]
    return ended
  }
}
