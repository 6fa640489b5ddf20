/**
 * Checks what a caller sent against a schema. The error names everything that is wrong in one message, and no values.
 */
import type { z } from 'zod'
import { LANGUAGES, type Language, type Words } from '../terms/people.ts'
import { formatPath } from '../config/yaml.ts'
import { type FieldFault, OperationError } from './error.ts'
import { expected } from './expected.ts'

/** What a caller sends with an operation: fields by name, or nothing. */
export type Sent = Record<string, unknown> | undefined

/** The most fields that one error names. A caller that sends thousands of wrong ones does not get thousands of lines. */
const MOST_FIELDS = 20

/** The most of a field's name that is repeated, because unknown names may be of any length. */
const LONGEST_FIELD = 100

const UNKNOWN: Words = { zh: '未知字段', en: 'unknown field' }
const EXPECTED: Words = { zh: '应为', en: 'expected ' }

interface Fault extends FieldFault {
  line: Words
}

/** The fields as the schema makes them. Throws OperationError `invalid`. */
export function read<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value ?? {})
  if (result.success) return result.data
  const faults = result.error.issues.flatMap(describe).slice(0, MOST_FIELDS)
  const text = (language: Language) => [...new Set(faults.map(({ line }) => line[language]))].join('; ')
  const fields = faults.map(({ field, expected }) => ({ field, expected }))
  throw new OperationError('invalid', { zh: text('zh'), en: text('en') }, {}, fields)
}

function describe(issue: z.core.$ZodIssue): Fault[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(key => fault(formatPath([...issue.path, key]), UNKNOWN, { zh: '', en: '' }))
  return [fault(formatPath(issue.path), expected(issue), EXPECTED)]
}

function fault(path: string, expected: Words, before: Words): Fault {
  const field = path.slice(0, LONGEST_FIELD)
  const line = Object.fromEntries(
    LANGUAGES.map(language => [language, `${field}: ${before[language]}${expected[language]}`]),
  ) as Words
  return { field, expected, line }
}
