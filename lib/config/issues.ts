/**
 * Checks a YAML file against its schema and reports every violation as a problem of that file: where it is, what was
 * expected, what was found.
 */
import { z } from 'zod'
import { oneOfThese } from './typos.ts'
import { formatPath, type Path, type Source } from './yaml.ts'

/** Returns the parsed value, or null after adding the problems to `source`. */
export function validate<S extends z.ZodType>(schema: S, source: Source): z.output<S> | null {
  const result = schema.safeParse(source.value)
  if (result.success) return result.data
  for (const issue of result.error.issues) report(schema, source, issue)
  return null
}

function report(schema: z.ZodType, source: Source, issue: z.core.$ZodIssue): void {
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path)
    for (const key of issue.keys) source.problem([...issue.path, key], oneOfThese(key, known), { atKey: true })
  } else if (issue.code === 'custom') {
    source.problem(issue.path, issue.message, { hidden: issue.params?.['hidden'] === true })
  } else source.problem(issue.path, expectedShape(issue), { shape: true })
}

function expectedShape(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.expected === 'array' ? 'a list' : 'a map'
  if (issue.code === 'too_small') return `at least ${issue.minimum} ${issue.minimum === 1 ? 'entry' : 'entries'}`
  return issue.message
}

/** The keys that the schema allows in the map at `path`. */
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

/**
 * Reports every name that occurs a second time. `path(i)` is where the name of row `i` is written. `hidden`: the names
 * are secrets, which problems must not show.
 */
export function refuseDuplicates(source: Source, names: string[], path: (i: number) => Path, hidden = false): void {
  const first = new Map<string, number>()
  names.forEach((name, i) => {
    const earlier = first.get(name)
    if (earlier === undefined) first.set(name, i)
    else source.problem(path(i), `something else than ${formatPath(path(earlier))} has`, { hidden })
  })
}
