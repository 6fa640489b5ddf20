/**
 * Checks the paths at which the gateway keeps data, before anything opens them, so that the operator reads what is
 * wrong and what to do about it instead of an error of the system or the database.
 */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { type Config, ConfigError } from '../terms/config.ts'

/** The file of the embedded store; null when the store is a server, or only in memory. */
function fileOf({ store }: Config): string | null {
  const file = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : ':memory:'
  return file === ':memory:' ? null : path.resolve(file)
}

/**
 * Makes the folders of the journal and of the embedded store. Throws ConfigError when one cannot be made or written.
 */
export function prepareFolders(config: Config, configFile: string): void {
  const file = fileOf(config)
  const problems = [folderProblem('journal', path.resolve(config.journal)), file === null ? null : fileProblem(file)]
  const found = problems.filter(problem => problem !== null)
  if (found.length > 0) throw new ConfigError(found.map(problem => `${configFile}: ${problem}`))
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

function folderProblem(setting: string, folder: string): string | null {
  try {
    mkdirSync(folder, { recursive: true })
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
