/**
 * A private MariaDB or MySQL server, on 127.0.0.1 only. An empty data folder takes seconds to make: the first test that
 * needs one makes it and keeps it in node_modules/.cache, and every server gets a copy.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type MysqlServer, startServer } from './mysql-server.ts'
import { freePort } from './ports.ts'

const FOLDERS = [
  '/usr/sbin',
  '/usr/bin',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/local/mysql/bin',
  '/opt/homebrew/bin',
]

function find(...names: string[]): string | null {
  const folders = [...FOLDERS, ...(process.env['PATH'] ?? '').split(':')]
  for (const name of names) {
    for (const folder of folders) if (existsSync(join(folder, name))) return join(folder, name)
  }
  return null
}

const CACHE = new URL('../../node_modules/.cache/gateway-tests/', import.meta.url).pathname
/** `loose`: one of the two families does not know the option. */
const STORAGE = [
  '--innodb-buffer-pool-size=128M',
  '--loose-innodb-log-file-size=16M',
  // Tests kill servers, which loses nothing that the kernel has; no test takes the power away.
  '--loose-debug-no-sync',
]

/** How long one waits for the installation that another process began; a process that was killed left its lock behind. */
const INSTALLATION_MS = 60_000
const POLL_MS = 50

/** The empty data folder of this version of the server. Of the processes that find none, one makes it and the others wait. */
async function emptyData(server: string, user: string): Promise<string> {
  const { stdout: version } = spawnSync(server, ['--no-defaults', '--version'], { encoding: 'utf8' })
  const kept = join(CACHE, version.trim().replace(/[^\w.-]+/g, '-'))
  const lock = `${kept}.lock`
  mkdirSync(CACHE, { recursive: true })
  for (const lastMs = performance.now() + INSTALLATION_MS; !existsSync(kept); await sleep(POLL_MS)) {
    if (!locked(lock) && performance.now() < lastMs) continue
    try {
      makeData(server, kept, user)
    } finally {
      rmSync(lock, { recursive: true, force: true })
    }
  }
  return kept
}

/** Takes the lock, and answers whether nobody else had it. */
function locked(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch {
    return false
  }
}

/** Two that make it at once, because one waited long enough, do no harm. */
function makeData(server: string, kept: string, user: string): void {
  if (existsSync(kept)) return
  const fresh = `${kept}-${process.pid}`
  install(server, fresh, user)
  try {
    renameSync(fresh, kept)
  } catch {
    rmSync(fresh, { recursive: true }) // somebody else was faster
  }
}

function install(server: string, data: string, user: string): void {
  const installer = find('mariadb-install-db', 'mysql_install_db')
  // Not the machine's: a server that starts deletes the temporary tables that others have there.
  const temporary = mkdtempSync(join(tmpdir(), 'gateway-mariadb-'))
  const storage = [...STORAGE, `--datadir=${data}`, `--tmpdir=${temporary}`, user]
  const [command, args] =
    installer === null
      ? [server, ['--no-defaults', '--initialize-insecure', ...storage]]
      : [installer, ['--no-defaults', ...storage, '--auth-root-authentication-method=normal', '--skip-test-db']]
  const { status, stderr, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  rmSync(temporary, { recursive: true, force: true })
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

export async function startMariadb(): Promise<MysqlServer> {
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
  cpSync(await emptyData(server, user), data, { recursive: true })
  const port = await freePort()
  const args = [
    '--no-defaults',
    `--datadir=${data}`,
    // Not the machine's, for the reason that `install` names.
    `--tmpdir=${folder}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(folder, 's')}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--log-error=${log}`,
    user,
    '--skip-log-bin',
    '--skip-name-resolve',
    '--innodb-flush-log-at-trx-commit=1',
    ...STORAGE,
    '--max-connections=100',
  ]
  return startServer({ command: server, args, port, folder, log, answers: () => answers(port) })
}
