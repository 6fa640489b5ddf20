/**
 * The table of all numbers that somebody else sends and money is computed from, in docs/charging.md: every row's test is there, and
 * every field stands in it that the program reads, in answers and in requests.
 */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { MAXIMUM_NAMES } from '../lib/protocols/words/maxima.ts'
import { USAGE_WORDS } from '../lib/protocols/words/reports.ts'

const read = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const sources = (folder: string): string[] =>
  readdirSync(new URL(`../${folder}`, import.meta.url))
    .filter(file => file.endsWith('.ts'))
    .map(file => read(`${folder}/${file}`))

const page = read('docs/charging.md')
const section = page.split('## Every number that somebody else sends')[1]?.split('\n## ')[0] ?? ''
const [, upstreams = '', clients = '', payments = ''] = section.split(/^\*\*\w.*\*\*$/m)
const rowsOf = (table: string): string[][] =>
  table
    .split('\n')
    .filter(line => line.startsWith('| ') && !line.startsWith('| number |'))
    .map(line => line.split(' | ').map(cell => cell.replace(/^\| | \|$/g, '')))

/** The names in the first column; of a path its last step. */
const namesIn = (table: string): Set<string> =>
  new Set(rowsOf(table).flatMap(([first = '']) => [...first.matchAll(/`(?:\w+\.)*(\w+)`/g)].map(found => found[1]!)))

t.test('every row names a test that is there', async t => {
  const rows = [upstreams, clients, payments].flatMap(rowsOf)
  t.ok(rows.length > 30)
  for (const row of rows) {
    t.equal(row.length, 4, `${row[0]} has four cells`)
    const [, file = '', title = ''] = /^`(test\/[\w/.-]+)`: (.+)$/.exec(row[3] ?? '') ?? []
    t.not(title, '', `${row[0]} names a file and a test`)
    t.ok(title !== '' && read(file).includes(title), `${file} has "${title}"`)
  }
})

/** Fields of answers that are read as numbers and cost nothing: times, places, and objects that have the numbers in them. */
const NO_MONEY = new Set(['created', 'created_at', 'index', 'output_index', 'output_tokens_details', 'billed_units'])

/** Names in calls of the functions by which a meter reads a number, and in the lists of such names. */
function numbersRead(): Set<string> {
  const found = new Set(USAGE_WORDS.map(({ field }) => field.split('.').at(-1)!))
  const code = [...sources('lib/protocols'), ...sources('lib/protocols/words')]
  for (const text of code) {
    const calls = text.matchAll(/\b(?:first|reported|secondsOf)\(((?:[^()]|\([^()]*\))*)\)/g)
    const lists = text.matchAll(/^const [A-Z_]+ = (\[(?:'\w+_tokens',? ?)+\]|'\w+_requests')$/gm)
    for (const [, inside = ''] of [...calls, ...lists])
      for (const [, name = ''] of inside.matchAll(/'(\w+)'/g)) found.add(name)
  }
  return found
}

t.test('every number that is read of an answer stands in it', async t => {
  const said = namesIn(upstreams)
  const found = [...numbersRead()].filter(name => !NO_MONEY.has(name))
  t.ok(found.length > 40, 'fields are found')
  for (const name of [
    'input_tokens',
    'thoughtsTokenCount',
    'generated_images',
    'duration',
    'ephemeral_1h_input_tokens',
  ])
    t.ok(found.includes(name), `${name} is one of them`)
  for (const name of found) t.ok(said.has(name), name)
})

const READERS =
  /read\.(?:maximum|answers|uses|raiseMaximum|thinkingBudget|budgetWithin|numberIn)\b|maxTokens\(|paceOf|codePoints|\btier\(|pictureSaid|asked\('|^\w+', side/

t.test('every number that is read of a request stands in it', async t => {
  const said = namesIn(clients)
  const fields = sources('lib/protocols').flatMap(text => text.split(".has('").slice(1))
  const found = new Set(
    fields.filter(field => READERS.test(field.split(/\n\n|\nconst /)[0]!)).map(field => /^\w+/.exec(field)![0]),
  )
  t.ok(found.size > 20, 'fields are found')
  for (const name of [...MAXIMUM_NAMES, 'n', 'max_uses', 'input']) t.ok(found.has(name), `${name} is one of them`)
  for (const name of found) t.ok(said.has(name), name)
})
