/** Recorded answers of every provider through translation: text, thoughts, calls, arguments, finish word and usage arrive as they were said. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { readFailure } from '../../lib/translate/failure.ts'
import { translated } from '../../lib/translate/table.ts'
import { RECORDED_ERRORS } from '../protocols/recorded-errors.ts'
import { ANSWERS, compared, PAGE, TEXT, written } from './support/recorded.ts'

for (const row of ANSWERS)
  t.test(`${row.kind}, ${row.protocol}: ${row.what}`, async t => {
    for (const to of TEXT.filter(name => name !== row.protocol))
      for (const { what, said, told } of compared(row, to)) t.same(told, said, what)
  })

t.test('an error of each kind is told in the words of its provider', async t => {
  for (const { kind, status, body, told, text } of RECORDED_ERRORS) {
    const failure = readFailure(status, Buffer.from(JSON.stringify(body)))
    t.match(failure, { kind: told, status, message: text }, kind)
    for (const to of TEXT) {
      const written = JSON.parse(translated(to).writeError(failure).body)
      t.equal(written.error.message, text, `${kind}, to ${to}`)
    }
  }
})

t.test('the table of the page is what the run finds', async t => {
  const page = readFileSync(PAGE, 'utf8')
  t.equal(page, written(page), 'node test/translate/support/recorded.ts writes it')
})
