/**
 * A private MariaDB or MySQL server: own data folder, free port, 127.0.0.1 only, gone with the process that started it.
 * Its faults are real ones: `kill` is SIGKILL, `pause` is SIGSTOP.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import { freePort } from './ports.ts'

const FOLDERS = [
  '/usr/sbin',
  '/usr/bin',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/local/mysql/bin',
  '/opt/homebrew/bin',
]
const START_MS = 60_000

export interface Mariadb {
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

function find(...names: string[]): string | null {
  const folders = [...FOLDERS, ...(process.env['PATH'] ?? '').split(':')]
  for (const name of names) {
    for (const folder of folders) if (existsSync(join(folder, name))) return join(folder, name)
  }
  return null
}

function install(server: string, data: string, user: string): void {
  const installer = find('mariadb-install-db', 'mysql_install_db')
  const [command, args] =
    installer === null
      ? [server, ['--no-defaults', '--initialize-insecure', `--datadir=${data}`, user]]
      : [
          installer,
          ['--no-defaults', `--datadir=${data}`, user, '--auth-root-authentication-method=normal', '--skip-test-db'],
        ]
  const { status, stderr, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} failed:\n${stdout}\n${stderr}`)
}

const answers = (port: number) =>
  new Promise<boolean>(resolve => {
    const socket = connect(port, '127.0.0.1')
    const answer = (up: boolean) => {
      socket.destroy()
      resolve(up)
    }
    socket.once('data', () => answer(true))
    socket.once('error', () => answer(false))
    socket.setTimeout(1_000, () => answer(false))
  })

export async function startMariadb(): Promise<Mariadb> {
  const server = find('mariadbd', 'mysqld')
  if (server === null) {
    throw new Error(
      'no MariaDB or MySQL server on this machine: install the Debian package mariadb-server (or mysql-server)',
    )
  }
  const folder = mkdtempSync(join(tmpdir(), 'gateway-mariadb-'))
  const data = join(folder, 'data')
  const log = join(folder, 'server.log')
  const user = `--user=${userInfo().username}`
  install(server, data, user)
  const port = await freePort()
  const args = [
    '--no-defaults',
    `--datadir=${data}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(folder, 's')}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--log-error=${log}`,
    user,
    '--skip-log-bin',
    '--skip-name-resolve',
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=128M',
    '--max-connections=100',
  ]
  let child: ChildProcess | null = null
  const endChild = () => child?.kill('SIGKILL')
  process.on('exit', endChild)

  async function start(): Promise<void> {
    const started = (child = spawn(server!, args, { stdio: 'ignore' }))
    started.unref()
    const lastMs = performance.now() + START_MS
    while (!(await answers(port))) {
      if (started.exitCode !== null || performance.now() > lastMs) {
        throw new Error(`${server} did not start:\n${existsSync(log) ? readFileSync(log, 'utf8').slice(-4_000) : ''}`)
      }
      await sleep(20)
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

  async function admin(sql: string): Promise<unknown> {
    const connection = await mysql.createConnection({ host: '127.0.0.1', port, user: 'root' })
    try {
      return (await connection.query(sql))[0]
    } finally {
      await connection.end()
    }
  }

  async function database(name: string): Promise<string> {
    await admin(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
    return `mysql://root@127.0.0.1:${port}/${name}`
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
