/** Recorded answers of every provider through translation: text, thoughts, calls, arguments, finish word and usage arrive as they were said. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { ANSWERS, compared, PAGE, TEXT, written } from './support/recorded.ts'

for (const row of ANSWERS)
  t.test(`${row.kind}, ${row.protocol}: ${row.what}`, async t => {
    for (const to of TEXT.filter(name => name !== row.protocol))
      for (const { what, said, told } of compared(row, to)) t.same(told, said, what)
  })

t.test('the table of the page is what the run finds', async t => {
  const page = readFileSync(PAGE, 'utf8')
  t.equal(page, written(page), 'node test/translate/support/recorded.ts writes it')
})
