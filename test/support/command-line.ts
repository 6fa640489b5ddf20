/**
 * `bin/gateway ARGS` in a folder. `runBin` starts it as a user does. `commandLine` runs commands one after the other in one
 * process, because the start of a process costs far more than what most of them do; it is for those that end by themselves.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import root from 'tap'
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

interface Server {
  child: ChildProcess
  /** Rejects when the process of commands has ended. */
  ended: Promise<never>
  /** Resolves when the command before has ended. */
  turn: Promise<unknown>
}

/** By the variables that each was started with. */
const servers = new Map<string, Server>()

/** One process runs the commands of all test files of a process: what costs is to load the program. */
function serverWith(env: NodeJS.ProcessEnv): Server {
  const key = JSON.stringify(env)
  const running = servers.get(key)
  if (running !== undefined) return running
  const child = fork(fileURLToPath(new URL('command-server.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env,
  })
  const ended = once(child, 'exit').then(([code]) => {
    servers.delete(key)
    throw new Error(`the process of commands: exit ${code}`)
  })
  ended.catch(() => {})
  root.teardown(() => child.kill())
  const server = { child, ended, turn: Promise.resolve() }
  servers.set(key, server)
  return server
}

/** `env`: what Node itself reads when the process starts. */
export function commandLine(env: Record<string, string> = {}): RunCommand {
  const whole = { ...process.env, ...env }
  return async (args, cwd, around = {}) => {
    const server = serverWith(whole)
    const run = server.turn.then(async () => {
      const answered = once(server.child, 'message')
      server.child.send({ args, cwd, ...around } satisfies Asked)
      const [ended] = (await Promise.race([answered, server.ended])) as [Ended]
      return ended
    })
    server.turn = run.catch(() => {})
    return run
  }
}
