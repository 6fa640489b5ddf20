/**
 * A private server of MySQL's protocol: own data folder, free port, gone with the process that started it. Its faults
 * are real ones: `kill` is SIGKILL, `pause` is SIGSTOP.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2/promise'

const START_MS = 60_000
const POLL_MS = 20

export interface MysqlServer {
  /** Of an empty database of its own, as a user who may do everything. */
  url: string
  port: number
  /** Makes another empty database; returns its URL. */
  database(name: string): Promise<string>
  /** One statement as administrator, on a connection of its own. */
  admin(sql: string): Promise<unknown>
  /** SIGTERM and wait. */
  halt(): Promise<void>
  /** SIGKILL and wait. */
  kill(): Promise<void>
  /** Starts it again on the same port and data. */
  start(): Promise<void>
  restart(): Promise<void>
  pause(): void
  resume(): void
  /** Ends it and removes its data. */
  stop(): Promise<void>
}

interface Launch {
  command: string
  args: string[]
  env?: NodeJS.ProcessEnv
  port: number
  /** Of root; none unless said. */
  password?: string
  /** Removed at the end. */
  folder: string
  /** Shown when it does not start. */
  log: string
  /** Whether it serves. */
  answers: () => Promise<boolean>
}

export async function startServer(launch: Launch): Promise<MysqlServer> {
  const { command, args, env = process.env, port, password = '', folder, log, answers } = launch
  let child: ChildProcess | null = null
  const endChild = () => child?.kill('SIGKILL')
  process.on('exit', endChild)

  async function start(): Promise<void> {
    const started = (child = spawn(command, args, { stdio: 'ignore', env, cwd: folder }))
    started.unref()
    const lastMs = performance.now() + START_MS
    while (!(await answers())) {
      if (started.exitCode !== null || performance.now() > lastMs) {
        throw new Error(`${command} did not start:\n${existsSync(log) ? readFileSync(log, 'utf8').slice(-4_000) : ''}`)
      }
      await sleep(POLL_MS)
    }
  }

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return
    ending.ref()
    const exited = once(ending, 'exit')
    ending.kill(signal)
    await exited
  }

  const admin = (sql: string) => statement(port, sql, password)

  async function database(name: string): Promise<string> {
    await admin(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
    return `mysql://root${password === '' ? '' : `:${password}`}@127.0.0.1:${port}/${name}`
  }

  await start()
  return {
    url: await database('gateway'),
    port,
    database,
    admin,
    start,
    halt: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async restart() {
      await end('SIGTERM')
      await start()
    },
    pause() {
      child?.kill('SIGSTOP')
      const stopped = () =>
        readdirSync(`/proc/${child?.pid}/task`).every(task =>
          /\) T /.test(readFileSync(`/proc/${child?.pid}/task/${task}/stat`, 'utf8')),
        )
      for (const until = Date.now() + 2000; !stopped() && Date.now() < until; ); // a thread may still be answering
    },
    resume: () => void child?.kill('SIGCONT'),
    async stop() {
      await end('SIGKILL')
      process.off('exit', endChild)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** As administrator, on a connection of its own. */
export async function statement(port: number, sql: string, password = ''): Promise<unknown> {
  const connection = await mysql.createConnection({ host: '127.0.0.1', port, user: 'root', password })
  try {
    return (await connection.query(sql))[0]
  } finally {
    await connection.end()
  }
}
