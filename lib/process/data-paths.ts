/** Where the gateway keeps data, tried before anything is opened: what is wrong is then said in words an operator can act on. */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { type Config, ConfigError } from '../terms/config.ts'

/** The embedded store's file; null where there is none. */
function fileOf({ store }: Config): string | null {
  const file = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : ':memory:'
  return file === ':memory:' ? null : path.resolve(file)
}

/** Makes the folders of the journal and of the embedded store. Throws ConfigError. */
export function prepareFolders(config: Config, configFile: string): void {
  const file = fileOf(config)
  const problems = [folderProblem('journal', path.resolve(config.journal)), file === null ? null : fileProblem(file)]
  const found = problems.filter(problem => problem !== null)
  if (found.length > 0) throw new ConfigError(found.map(problem => `${configFile}: ${problem}`))
}

/** A command that only reads makes no store. */
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
    : `${setting}: the folder ${folder} cannot be written by this user: give it to him, or name another one`
}

function may(what: string): boolean {
  try {
    accessSync(what, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}
