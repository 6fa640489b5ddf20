/** Which test files run in one process. */
import { readdirSync, statSync } from 'node:fs'

/**
 * How many files share a process. Most share the start of a process with many others. The kinds above the last wait for processes, browsers
 * and servers.
 */
const SHARED: readonly (readonly [files: RegExp, most: number])[] = [
  [/^test\/(faults\/|store\/(mysql|sqlite)\.test)/, 1],
  [/^test\/(cli|ledger|process|sdk|console\/pages)\//, 8],
  [/^test\/pay\//, 13],
  [/./, 32],
]
/** The last processes have fewer files, so that all end at about the same time, but not so few that their starts cost more. */
const FEWEST = 8
/** So many processes that wait begin before one that computes: where they run side by side, no processor is idle. */
const WAITING_EACH = 2

/** Endings of the files for `npm test`, and of those for `npm run test:long`. */
export const ENDINGS = { short: '.test.ts', long: '.long.ts' }

/** The files with this ending in a folder, or the argument itself. */
export function filesOf(argument: string, ending: string): string[] {
  if (!statSync(argument, { throwIfNoEntry: false })?.isDirectory()) return [argument]
  const names = readdirSync(argument, { recursive: true, encoding: 'utf8' })
  const tests = names.filter(name => name.endsWith(ending)).sort()
  return tests.map(name => `${argument.replace(/\/+$/, '')}/${name}`)
}

/** The files of each process, in the order in which `jobs` at a time begin. */
export function batches(files: readonly string[], jobs: number): string[][] {
  const kind = (file: string) => SHARED.findIndex(([pattern]) => pattern.test(file))
  const kinds = SHARED.map(([, most], i) => ({ most, all: files.filter(file => kind(file) === i) }))
  const computing = kinds.at(-1)!
  const made: string[][] = []
  for (let left = files.length; left > 0; left -= made.at(-1)!.length) {
    const waiting = kinds.find(({ all }) => all.length > 0)!
    const { all, most } =
      made.length % (WAITING_EACH + 1) < WAITING_EACH || computing.all.length === 0 ? waiting : computing
    made.push(all.splice(0, Math.min(most, Math.max(FEWEST, Math.ceil(left / jobs)))))
  }
  return made
}
