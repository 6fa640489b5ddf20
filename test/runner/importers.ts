/** Which test files need the packages of test/clients, so that the others run on a machine that cannot fetch them. */
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'

const IMPORTED = /(?:\bfrom|\bimport|\bresolve)\b\s*\(?\s*['"]([^'"\n]+)['"]/g
const INSTALLER = path.resolve(import.meta.dirname, '../clients/packages.ts')

/** Those of the files that import one of the packages, or what knows their folder, themselves or by other files. */
export function importers(files: readonly string[], packages: readonly string[]): string[] {
  const known = new Map<string, boolean>()
  const needs = (file: string): boolean => {
    const before = known.get(file)
    if (before !== undefined) return before
    known.set(file, false) // files that import each other
    const text = statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, 'utf8') : '' // words in a text look like imports, too
    const found = [...text.matchAll(IMPORTED)].some(([, name = '']) => {
      if (!name.startsWith('.')) return packages.some(one => name === one || name.startsWith(`${one}/`))
      const next = path.resolve(path.dirname(file), name)
      return next === INSTALLER || needs(next)
    })
    known.set(file, found)
    return found
  }
  return files.filter(file => needs(path.resolve(file)))
}
