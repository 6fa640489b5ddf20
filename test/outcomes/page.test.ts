/** The table of who pays what when somebody is absent, slow or wrong: it is whole, and docs/lifecycle.md shows it. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { STATES } from '../../lib/exchange/relay/states.ts'
import { ORDER_STATES } from '../../lib/terms/pay.ts'
import { type Cell, HOW, type Proof, STAGES, TABLES, WHO } from './cells.ts'
import { PAGE, written } from './page.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

t.test('every state has a row, and there is no other one', async t => {
  const plans = read('../../lib/exchange/plans.ts')
  const plan = (name: string) => plans.split(`const ${name} = `)[1]?.split('\n\n')[0] ?? ''
  const steps = `${plan('known')}${plan('relay')}`
  const named = [...steps.matchAll(/\.step\((\w+)\)/g)].map(found => found[1] as string)
  t.same(['route', ...named], [...STAGES, 'dispatch'])
  t.same(Object.keys(TABLES.request), [...STAGES, ...Object.keys(STATES)])
  t.same(Object.keys(TABLES.order).sort(), [...ORDER_STATES].sort())
})

/** Every cell with where it stands. */
const cells: [where: string, cell: Cell | undefined][] = Object.values(TABLES).flatMap(rows =>
  Object.entries(rows).flatMap(([state, row]) =>
    WHO.flatMap(who => HOW.map((how, i): [string, Cell | undefined] => [`${state}: ${who} ${how}`, row[who][i]])),
  ),
)

t.test('no cell is empty', async t => {
  t.equal(cells.length, (STAGES.length + Object.keys(STATES).length + ORDER_STATES.length) * WHO.length * HOW.length)
  for (const [where, cell] of cells) {
    if (cell === undefined) t.fail(where)
    else if ('cannot' in cell) t.ok(cell.cannot.length > 10, where)
    else t.ok(cell.pays.length > 5 && cell.proofs.length > 0, where)
  }
})

t.test('every test that is named exists under its title', async t => {
  const sources = new Map<string, string>()
  const isThere = ([file, title]: Proof): boolean => {
    const source = sources.get(file) ?? read(`../${file}`).replaceAll(/\$\{[^}]*\}/g, '…')
    sources.set(file, source)
    return ["'", '"', '`'].some(quote => source.includes(`${quote}${title.replaceAll(quote, `\\${quote}`)}${quote}`))
  }
  for (const [where, cell] of cells)
    if (cell !== undefined && 'proofs' in cell)
      for (const proof of cell.proofs) t.ok(isThere(proof), `${where}: ${proof.join(': ')}`)
})

t.test('the page shows the table', async t => {
  const page = readFileSync(PAGE, 'utf8')
  t.equal(page, written(page), 'npm run outcomes writes it')
})
