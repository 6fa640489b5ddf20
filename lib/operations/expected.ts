/** Says what should have stood where a caller sent something else, in every language. It never says what was sent. */
import type { z } from 'zod'
import type { Words } from '../terms/people.ts'

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
      return both(`以下之一:${issue.values.join('、')}`, `one of ${issue.values.join(', ')}`)
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
