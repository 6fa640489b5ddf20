/**
 * Checks what a caller sent against a schema. The error names everything that is wrong in one message, in every language: what
 * should have stood there, and never what was sent.
 */
import type { z } from 'zod'
import { formatPath } from '../config/yaml.ts'
import { LANGUAGES, type Language, type Words } from '../base/people.ts'
import { type FieldFault, OperationError } from './error.ts'

export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The fields that are not null; maps among them (the prices of a model) lose their nulls too. A caller of the admin API writes `null` to
 * leave a field empty, and in a catalogue file, whose schemas read both, the field is left out.
 */
export function withoutNulls(fields: Record<string, unknown> | undefined): Record<string, unknown> {
  const kept = Object.entries(fields ?? {}).filter(([, value]) => value !== null)
  return Object.fromEntries(kept.map(([name, value]) => [name, isMap(value) ? dropNulls(value) : value]))
}

const dropNulls = (map: Record<string, unknown>): object =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null))

const both = (zh: string, en: string): Words => ({ zh, en })

const TYPES: Record<string, Words> = {
  array: both('列表', 'a list'),
  object: both('对象', 'an object'),
  record: both('对象', 'an object'),
  string: both('文字', 'a text'),
  number: both('数字', 'a number'),
  int: both('整数', 'a whole number'),
  boolean: both('true或false', 'true or false'),
  null: both('null', 'null'),
}
const OTHER = both('其他值', 'another value')

const UNITS: Record<string, [one: Words, more: Words]> = {
  string: [both('个字符', 'character'), both('个字符', 'characters')],
  array: [both('项', 'entry'), both('项', 'entries')],
}

function bound(origin: string, amount: number | bigint, least: boolean): Words {
  const [one, more] = UNITS[origin] ?? [both('', ''), both('', '')]
  const { zh, en } = Number(amount) === 1 ? one : more
  return both(`${least ? '至少' : '最多'}${amount}${zh}`, `${least ? 'at least' : 'at most'} ${amount} ${en}`.trim())
}

/** `unrecognized_keys` has no expectation of its own: the key is wrong, and not a value. */
export function expected(issue: Exclude<z.core.$ZodIssue, z.core.$ZodIssueUnrecognizedKeys>): Words {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? OTHER
    case 'too_small':
      return bound(issue.origin, issue.minimum, true)
    case 'too_big':
      return bound(issue.origin, issue.maximum, false)
    case 'invalid_value':
      return both(`以下之一：${issue.values.join('、')}`, `one of ${issue.values.join(', ')}`)
    case 'custom':
      return (issue.params?.['words'] as Words | undefined) ?? both(issue.message, issue.message)
    case 'invalid_format':
    case 'not_multiple_of':
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
      return OTHER
  }
}

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
