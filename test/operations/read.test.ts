import t from 'tap'
import { z } from 'zod'
import { OperationError } from '../../lib/operations/error.ts'
import { read } from '../../lib/operations/read.ts'
import * as kind from '../../lib/config/scalars.ts'

const form = z
  .strictObject({
    name: kind.name,
    count: kind.whole(1, 9).optional(),
    note: z.string().min(1).max(3).optional(),
    tags: z.array(z.string()).min(2).optional(),
    color: z.enum(['red', 'blue']).optional(),
    nested: z.strictObject({ on: z.boolean() }).optional(),
  })
  .refine(({ color }) => color !== 'blue', {
    path: ['color'],
    ...kind.problem({ zh: '别的颜色', en: 'another color' }),
  })

function refusal(sent: unknown): OperationError {
  try {
    read(form, sent)
  } catch (error) {
    if (error instanceof OperationError) return error
  }
  throw new Error('it was read')
}

t.test('what is wrong is named in both languages', async t => {
  for (const [sent, field, zh, en] of [
    [{}, 'name', '应为1到190个字符的名称', 'expected a name of 1 to 190 characters'],
    [{ name: 'a', count: 10 }, 'count', '应为从1到9的整数', 'expected a whole number from 1 to 9'],
    [{ name: 'a', note: 5 }, 'note', '应为文字', 'expected a text'],
    [{ name: 'a', note: '' }, 'note', '应为至少1个字符', 'expected at least 1 character'],
    [{ name: 'a', note: 'abcd' }, 'note', '应为最多3个字符', 'expected at most 3 characters'],
    [{ name: 'a', tags: ['x'] }, 'tags', '应为至少2项', 'expected at least 2 entries'],
    [{ name: 'a', tags: [1, 'x'] }, 'tags[0]', '应为文字', 'expected a text'],
    [{ name: 'a', color: 'green' }, 'color', '应为以下之一：red、blue', 'expected one of red, blue'],
    [{ name: 'a', color: 'blue' }, 'color', '应为别的颜色', 'expected another color'],
    [{ name: 'a', nested: { on: 1 } }, 'nested.on', '应为true或false', 'expected true or false'],
    [{ name: 'a', nested: [] }, 'nested', '应为对象', 'expected an object'],
    [{ name: 'a', nme: 1 }, 'nme', '未知字段', 'unknown field'],
  ] as const) {
    const { words, fields, message } = refusal(sent)
    t.same(words, { zh: `${field}: ${zh}`, en: `${field}: ${en}` })
    t.equal(message, `${field}: ${en}`)
    t.equal(fields[0]?.field, field)
    t.equal(fields[0]?.expected.zh, zh.replace(/^应为/, ''))
  }
})

t.test('an error names a bounded number of fields, by bounded names', async t => {
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`field${i}`, i]))
  const { fields, message } = refusal({ ['x'.repeat(60_000)]: 1, ...many })
  t.equal(fields.length, 20)
  t.ok(message.length < 5_000)
})

t.test('what is sent under the name of a prototype is an unknown field', async t => {
  const sent = JSON.parse('{"name":"a","__proto__":{"count":10}}')
  t.match(refusal(sent).message, '__proto__: unknown field')
})
