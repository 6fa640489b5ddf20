/**
 * Checks the paths at which the gateway keeps data, before anything opens them, so that the operator reads what is
 * wrong and what to do about it instead of an error of the system or the database.
 */
import { accessSync, constants, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import { type Config, ConfigError } from '../config/config.ts'

/** Pictures are for those who know their links, and not for other users of the machine. */
const OWN_FOLDER = 0o700

/** The file of the embedded store; null when the store is a server, or only in memory. */
function fileOf({ store }: Config): string | null {
  const file = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : ':memory:'
  return file === ':memory:' ? null : path.resolve(file)
}

/** Free bytes on the disks of the journal and of the embedded store; a disk that does not say is left out. */
export async function freeBytes(config: Config): Promise<Record<string, number>> {
  const file = fileOf(config)
  const folders = { journal: config.journal, ...(file === null ? {} : { store: path.dirname(file) }) }
  const found = await Promise.all(
    Object.entries(folders).map(([what, folder]) =>
      statfs(folder).then(
        ({ bavail, bsize }) => [[what, bavail * bsize]] as const,
        () => [],
      ),
    ),
  )
  return Object.fromEntries(found.flat())
}

/** An empty file beside the embedded store: when it was written last, a copy had been made. */
const backupMark = (file: string): string => `${file}.backed-up`

/** The store can be copied by a user who may write nothing beside it, and then nobody learns of it here. */
export function markBackup(config: Config): void {
  const file = fileOf(config)
  try {
    if (file !== null) writeFileSync(backupMark(file), '')
  } catch {}
}

/** When the embedded store was copied last, in ms since 1970; null where that is not known. */
export async function lastBackupMs(config: Config): Promise<number | null> {
  const file = fileOf(config)
  if (file === null) return null
  return stat(backupMark(file)).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  )
}

/**
 * Makes the folders of the journal, of pictures and of the embedded store. Throws ConfigError when one cannot be made or
 * written.
 */
export function prepareFolders(config: Config, configFile: string): void {
  const file = fileOf(config)
  refuseProblems(configFile, [
    folderProblem('journal', path.resolve(config.journal)),
    picturesProblem(config),
    file === null ? null : fileProblem(file),
  ])
}

/** Makes the folder of pictures, which a reload may have named. Throws as `prepareFolders` does. */
export function preparePictures(config: Config, configFile: string): void {
  refuseProblems(configFile, [picturesProblem(config)])
}

const picturesProblem = ({ images }: Config): string | null =>
  images === null ? null : folderProblem('images.links', path.resolve(images.folder), OWN_FOLDER)

function refuseProblems(configFile: string, problems: readonly (string | null)[]): void {
  const found = problems.filter(problem => problem !== null)
  if (found.length > 0) throw new ConfigError(found.map(problem => `${configFile}: ${problem}`))
}

/**
 * What may be wrong with the links to pictures, without making anything: the gateway may run as another user, on another
 * machine.
 */
export function pictureWarnings({ images, public: { given } }: Config): string[] {
  if (images === null) return []
  const warnings: string[] = []
  const folder = path.resolve(images.folder)
  const stat = statSync(folder, { throwIfNoEntry: false })
  if (stat !== undefined && !stat.isDirectory()) warnings.push(`images.links: ${folder} is not a folder`)
  else if (stat !== undefined && !may(folder)) warnings.push(`images.links: ${folder} cannot be written by this user`)
  if (!given)
    warnings.push('images.links: without public.main, links lead to the host that each client has asked, over http')
  return warnings
}

/**
 * Throws ConfigError when the file of the embedded store does not exist: a command that only reads must not make an
 * empty one.
 */
export function wantStore(config: Config, configFile: string): void {
  const file = fileOf(config)
  if (file === null || existsSync(file)) return
  const advice = 'relative paths are from the working directory; `gateway migrate` makes a new store'
  throw new ConfigError([`${configFile}: store: expected a store, found no file ${file} (${advice})`])
}

function fileProblem(file: string): string | null {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat !== undefined && !stat.isFile()) return `store: expected a file, found something else at ${file}`
  if (stat !== undefined && !may(file)) return `store: ${file} cannot be written by this user`
  return folderProblem('store', path.dirname(file))
}

function folderProblem(setting: string, folder: string, mode?: number): string | null {
  try {
    mkdirSync(folder, { recursive: true, mode })
  } catch (error) {
    return `${setting}: the folder ${folder} cannot be made (${(error as NodeJS.ErrnoException).code}): make it, or name another one`
  }
  return may(folder)
    ? null
    : `${setting}: the folder ${folder} cannot be written by this user: make this user its owner, or name another one`
}

function may(what: string): boolean {
  try {
    accessSync(what, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}
