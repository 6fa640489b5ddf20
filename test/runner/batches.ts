/** Which test files run in one process. */
import { readdirSync, statSync } from 'node:fs'

/**
 * How many files share a process, and which begin first. Most share the start of a process with many others. Those that wait for
 * processes and browsers come first, with few others, so that no processor is idle at the end.
 */
const SHARED: readonly (readonly [files: RegExp, most: number])[] = [
  [/^test\/(faults\/|store\/(mysql|sqlite)\.test)/, 1],
  [/^test\/(cli|ledger|process|sdk|console\/pages)\//, 8],
  [/^test\/pay\//, 13],
  [/./, 32],
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
  const kind = (file: string) => SHARED.findIndex(([pattern]) => pattern.test(file))
  return SHARED.flatMap(([, most], i) => {
    const all = files.filter(file => kind(file) === i)
    return Array.from({ length: Math.ceil(all.length / most) }, (_, n) => all.slice(n * most, (n + 1) * most))
  })
}
