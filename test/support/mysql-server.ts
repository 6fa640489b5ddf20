/**
 * A private database server that speaks MySQL's protocol, with its own data folder and a free port. It ends with the
 * process that started it. Its faults are real: `kill` sends SIGKILL, `pause` sends SIGSTOP.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2/promise'

/** It only ends a start in vain: an engine that replays its log takes most of a minute on a busy machine. */
const START_MS = 180_000
/** A statement of a test takes no second. An engine that hangs would otherwise end it after a quarter of an hour, with a time-out of its own. */
const STATEMENT_MS = 60_000
const POLL_MS = 20

export interface MysqlServer {
  /** The URL of an empty database, with a user who has all rights. */
  url: string
  port: number
  /** Creates another empty database and resolves with its URL. */
  database(name: string): Promise<string>
  /** Runs one statement as administrator, on a new connection. */
  admin(sql: string): Promise<unknown>
  /** Sends SIGTERM and waits for the end. */
  halt(): Promise<void>
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>
  /** Starts the server again, on the same port and data. */
  start(): Promise<void>
  restart(): Promise<void>
  pause(): void
  resume(): void
  /** Ends the server and removes its data. */
  stop(): Promise<void>
}

interface Launch {
  command: string
  args: string[]
  env?: NodeJS.ProcessEnv
  port: number
  /** The password of root; without it root has none. */
  password?: string
  /** The folder that is removed at the end. */
  folder: string
  /** The log file, whose content the error shows when the server does not start. */
  log: string
  /** Resolves with whether the server answers. */
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

/** Runs statements as administrator, on a new connection. Rejects with the statement when the server does not answer in time. */
export async function statement(port: number, sql: string, password = ''): Promise<unknown> {
  const connection = await mysql.createConnection({ host: '127.0.0.1', port, user: 'root', password })
  try {
    return (await connection.query({ sql, timeout: STATEMENT_MS }))[0]
  } catch (error) {
    if ((error as { code?: string }).code !== 'PROTOCOL_SEQUENCE_TIMEOUT') throw error
    const [words] = sql.split(' IDENTIFIED ') // what follows is a password
    throw new Error(`the server did not answer within ${STATEMENT_MS / 1000} s: ${words}`)
  } finally {
    // without a farewell, for which a server that hangs would be waited for, too
    connection.destroy()
  }
}
