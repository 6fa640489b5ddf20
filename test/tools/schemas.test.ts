import { readFileSync } from 'node:fs'
import t from 'tap'
import { generatedFiles, withTables } from '../../tools/schemas/schemas.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

t.test('schemas for editors and the tables of the documentation are as the code says', async t => {
  const files = generatedFiles(read('docs/config.md'))
  for (const [path, text] of Object.entries(files)) {
    t.equal(text === read(path), true, `${path} is current (else: node tools/schemas/generate.ts)`)
  }
  t.equal(Object.keys(files).length, 3)
})

t.test('every setting has a meaning', async t => {
  const rows = read('docs/config.md')
    .split('\n')
    .filter(line => line.startsWith('| `'))
  t.ok(rows.length > 90)
  for (const row of rows) t.match(row, /^\| `[^`]+` \| [^|]+ \| [^|]{5,} \|$/)
})

t.test('tables need their markers', async t => {
  t.equal(
    withTables('a <!-- settings of x -->\nold\n<!-- end of x --> b', { x: 'new' }),
    'a <!-- settings of x -->\nnew\n<!-- end of x --> b',
  )
  t.throws(() => withTables('nothing', { x: 'new' }), /no place for the settings of x/)
})
