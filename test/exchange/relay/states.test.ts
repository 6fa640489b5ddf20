/** The states of a relay and what leads from one to the next: the table of the code and that of docs/architecture.md. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { after, STATES, type State, TRANSITIONS, type Transition } from '../../../lib/exchange/relay/states.ts'

const page = readFileSync(new URL('../../../docs/architecture.md', import.meta.url), 'utf8')
const section = page.split('## The states of a relay')[1]?.split('\n## ')[0] ?? ''

/** The cells of each row of the table with such a head. */
function rowsOf(head: string): string[][] {
  const [, table = ''] = section.split(`${head}\n`)
  const rows = table.split('\n\n')[0]?.split('\n').slice(1) ?? []
  return rows.map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}

const quoted = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(' ')
const names = Object.keys(TRANSITIONS) as Transition[]
const states = Object.keys(STATES) as State[]

t.test('the page shows the table', t => {
  t.same(
    rowsOf('| state | what it means |'),
    states.map(state => [quoted([state]), STATES[state]]),
  )
  t.same(
    rowsOf('| transition | from | to | when |'),
    names.map(name => {
      const { from, to, when } = TRANSITIONS[name]
      return [quoted([name]), quoted(from), to === null ? 'the same' : quoted([to]), when]
    }),
  )
  t.end()
})

t.test('a transition leads where the table says, and from nowhere else', t => {
  for (const name of names)
    for (const state of states) {
      const { from, to }: { from: readonly State[]; to: State | null } = TRANSITIONS[name]
      if (from.includes(state)) t.equal(after(state, name), to ?? state)
      else t.throws(() => after(state, name), { message: `a relay that is ${state} cannot ${name}` })
    }
  t.end()
})

t.test('every state can be reached and left, but the last, which nothing leaves', t => {
  const leads = (to: State) => names.some(name => (TRANSITIONS[name].to as State | null) === to)
  t.same(
    states.filter(state => state === 'asking' || leads(state)),
    states,
  )
  const leaves = (from: State) => names.some(name => (TRANSITIONS[name].from as readonly State[]).includes(from))
  t.same(states.filter(leaves), states.slice(0, -1))
  t.end()
})
