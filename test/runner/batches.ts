/** Which test files run in one process. */
import { readdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** So many of a folder: enough to share the start of a process, and few enough that the last ones do not wait for each other. */
const MOST = 12
/** Files in which real processes fail and come back: they mostly wait, so they begin first, each in a process of its own. */
const WAITING = /^test\/faults\//

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
  const waiting = files.filter(file => WAITING.test(file))
  const others = Map.groupBy(
    files.filter(file => !WAITING.test(file)),
    file => dirname(file),
  )
  const parts = (all: string[]) =>
    Array.from({ length: Math.ceil(all.length / MOST) }, (_, i) => all.slice(i * MOST, (i + 1) * MOST))
  return [...waiting.map(file => [file]), ...[...others.values()].flatMap(parts)]
}
