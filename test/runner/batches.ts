/** Which test files run in one process. */
import { readdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * How many files of a folder share a process, and which folders begin first. Most share the start of a process with many
 * others. Those that wait for processes and browsers come first, with few others, so that no processor is idle at the end.
 */
const SHARED: readonly (readonly [folder: RegExp, most: number])[] = [
  [/^test\/(faults|store)$/, 1],
  [/^test\/(cli|ledger|process|sdk|console\/pages)$/, 4],
  [/^test\/pay$/, 7],
  [/./, 12],
]

/** Endings of the files for `npm test`, and of those for `npm run test:long`. */
export const ENDINGS = { short: '.test.ts', long: '.long.ts' }

/** The files with this ending in a folder, or the argument itself. */
export function filesOf(argument: string, ending: string): string[] {
  if (!statSync(argument, { throwIfNoEntry: false })?.isDirectory()) return [argument]
  const names = readdirSync(argument, { recursive: true, encoding: 'utf8' })
  const tests = names.filter(name => name.endsWith(ending)).sort()
  return tests.map(name => `${argument.replace(/\/+$/, '')}/${name}`)
}

export function batches(files: readonly string[]): string[][] {
  const folders = [...Map.groupBy(files, file => dirname(file))]
  const kind = (folder: string) => SHARED.findIndex(([pattern]) => pattern.test(folder))
  return SHARED.flatMap(([, most], i) =>
    folders
      .filter(([folder]) => kind(folder) === i)
      .flatMap(([, all]) =>
        Array.from({ length: Math.ceil(all.length / most) }, (_, n) => all.slice(n * most, (n + 1) * most)),
      ),
  )
}
