/** Runs a schema over a source and turns everything it finds into problems that name place, expectation and finding. */
import { z } from 'zod'
import { formatPath, type Path, type Source } from './yaml.ts'

const FARTHEST_TYPO = 2

/** The schema's value, or null when something is wrong: the problems are in `source` then. */
export function validate<S extends z.ZodType>(schema: S, source: Source): z.output<S> | null {
  const result = schema.safeParse(source.value)
  if (result.success) return result.data
  for (const issue of result.error.issues) report(schema, source, issue)
  return null
}

function report(schema: z.ZodType, source: Source, issue: z.core.$ZodIssue): void {
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path)
    for (const key of issue.keys) source.problem([...issue.path, key], expectedKey(key, known), { atKey: true })
  } else if (issue.code === 'custom') {
    source.problem(issue.path, issue.message, { hidden: issue.params?.['hidden'] === true })
  } else source.problem(issue.path, expectedShape(issue))
}

function expectedShape(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.expected === 'array' ? 'a list' : 'a map'
  if (issue.code === 'too_small') return `at least ${issue.minimum} ${issue.minimum === 1 ? 'entry' : 'entries'}`
  return issue.message
}

function expectedKey(key: string, known: string[]): string {
  const close = known.map(k => ({ k, distance: editDistance(key, k) })).sort((a, b) => a.distance - b.distance)[0]
  const hint = close !== undefined && close.distance <= FARTHEST_TYPO ? ` (did you mean ${close.k}?)` : ''
  return `one of ${known.join(', ')}${hint}`
}

/** The keys that the schema has at a path. */
function keysAt(schema: z.ZodType, path: Path): string[] {
  let at: unknown = unwrap(schema)
  for (const step of path) {
    if (at instanceof z.ZodObject) at = unwrap(at.shape[String(step)])
    else if (at instanceof z.ZodArray) at = unwrap(at.element)
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : []
}

function unwrap(schema: unknown): unknown {
  while (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) schema = schema.unwrap()
  return schema
}

/** Insertions, deletions and replacements, and swaps of neighbours, that make `b` of `a`. */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return last[b.length]!
}

/** Reports every name that stands twice. `path` tells where the name of row `i` stands. */
export function refuseDuplicates(source: Source, names: string[], path: (i: number) => Path, hidden = false): void {
  const first = new Map<string, number>()
  names.forEach((name, i) => {
    const earlier = first.get(name)
    if (earlier === undefined) first.set(name, i)
    else source.problem(path(i), `something else than ${formatPath(path(earlier))} has`, { hidden })
  })
}
