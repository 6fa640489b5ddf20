import t from 'tap'
import { table } from '../../lib/cli/output.ts'

const COLUMNS = [{ name: 'name' }, { name: 'amount', right: true }, { name: 'note' }]
const ROWS = [
  ['a', '1.5', 'x'],
  ['模型', '21', ''],
]

t.test('aligned on a terminal, separated by tabs elsewhere', async t => {
  t.equal(table(COLUMNS, ROWS, true), 'NAME  AMOUNT  NOTE\na        1.5  x\n模型      21\n')
  t.equal(table(COLUMNS, ROWS, false), 'a\t1.5\tx\n模型\t21\t\n')
  t.equal(table(COLUMNS, [], true), 'NAME  AMOUNT  NOTE\n')
})
