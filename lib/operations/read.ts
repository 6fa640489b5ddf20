/**
 * Checks what a caller sent against a schema. The error names everything that is wrong in one message, and no values.
 */
import type { z } from 'zod'
import { formatPath } from '../terms/yaml.ts'
import { OperationError } from './error.ts'

/** What a caller sends with an operation: fields by name, or nothing. */
export type Sent = Record<string, unknown> | undefined

/** The fields as the schema makes them. Throws OperationError `invalid`. */
export function read<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value ?? {})
  if (result.success) return result.data
  throw new OperationError('invalid', [...new Set(result.error.issues.flatMap(describe))].join('; '))
}

function describe(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => `${formatPath([...issue.path, key])}: unknown field`)
  return [`${formatPath(issue.path)}: expected ${expected(issue)}`]
}

function expected(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.expected === 'array' ? 'a list' : 'an object'
  if (issue.code === 'too_small') return `at least ${issue.minimum} ${issue.minimum === 1 ? 'entry' : 'entries'}`
  return issue.message
}
