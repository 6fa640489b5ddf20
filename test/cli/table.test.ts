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

t.test('what a client or an upstream wrote begins no line, and turns no direction', async t => {
  const rows = [['a\u202eb', '1', 'x\ny\u2029z\u2066']]
  for (const isWide of [true, false]) t.notMatch(table(COLUMNS, rows, isWide), /[\u202e\u2029\u2066]|\ny/)
})

t.test('on a narrow terminal a name stays whole, and the last columns give way', async t => {
  const { columns } = process.stdout
  t.teardown(() => void (process.stdout.columns = columns))
  process.stdout.columns = 44
  const heads = [
    { name: 'channel', isKey: true },
    { name: 'kind' },
    { name: 'margin', right: true },
    { name: 'errors' },
  ]
  const rows = ['one', 'two'].map(name => [`channel-number-${name}`, 'a kind of upstream', '1.500000', 'none'])
  t.equal(
    table(heads, rows, true),
    [
      'CHANNEL             KIND           MARGIN  …',
      'channel-number-one  a kind of …  1.500000',
      'channel-number-two  a kind of …  1.500000',
      '',
    ].join('\n'),
  )
  const long = `a name that is far too long to be shown ${'x'.repeat(90)}`
  t.match(table(heads, [[long, '', '1.500000', '']], true), /^a name that is far …/m)
})
