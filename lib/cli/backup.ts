/**
 * `gateway backup FILE`: a copy of the embedded store, made while gateways serve. SQLite copies all pages as they were at one
 * moment; the copy is then checked page by page, so that a broken store is found while the last good copy is still there.
 */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { OperationError } from '../operations/error.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { markBackup, wantStore } from '../process/data-paths.ts'
import { type CommandOutput, progress } from './output.ts'

const SHOWN_EACH_MS = 500
/** All pages are copied in one step: between two steps a write of another process would begin the copy again. */
const ALL_PAGES = 2 ** 30

/** Throws OperationError when the store is none that this copies, when `to` is there already, or when the copy is not sound. */
export async function backupStore(
  configFile: string,
  env: NodeJS.ProcessEnv,
  to: string,
  json: boolean,
): Promise<CommandOutput> {
  const config = loadConfig(configFile, env)
  const from = fileOf(config)
  wantStore(config, configFile)
  if (existsSync(to)) throw new OperationError('conflict', `${to} is there already`)
  const part = `${to}.part`
  rmSync(part, { force: true })
  try {
    await copy(from, part)
    wantSound(part, from)
    renameSync(part, to)
    markBackup(config)
  } finally {
    rmSync(part, { force: true })
  }
  const { size: bytes } = statSync(to)
  if (json) return { data: `${JSON.stringify({ file: to, bytes })}\n`, talk: [] }
  return { data: `ok: ${to}, ${megabytes(bytes)} MB, checked\n`, talk: [] }
}

function fileOf({ store }: Config): string {
  const file = /^sqlite:(.+)/.exec(store)?.[1]
  if (file !== undefined && file !== ':memory:') return file
  throw new OperationError(
    'invalid',
    'store: expected the embedded store; a server is copied by its own program: mariadb-dump --single-transaction gateway',
  )
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)

async function copy(from: string, to: string): Promise<void> {
  const db = new DatabaseSync(from, { readOnly: true })
  const all = statSync(from).size
  const bytes = () => statSync(to, { throwIfNoEntry: false })?.size ?? 0
  const count = progress(() => `${megabytes(bytes())} of ${megabytes(all)} MB`)
  const timer = setInterval(() => count.show(), SHOWN_EACH_MS)
  try {
    await backup(db, to, { rate: ALL_PAGES })
  } finally {
    clearInterval(timer)
    count.end()
    db.close()
  }
}

function wantSound(file: string, from: string): void {
  const db = new DatabaseSync(file)
  const faults = db
    .prepare('PRAGMA quick_check(10)')
    .all()
    .map(row => String(row['quick_check']))
  db.close()
  if (faults.join() !== 'ok')
    throw new Error(`${from} is damaged, and its copy was not kept; restore the last good one: ${faults.join('; ')}`)
}
