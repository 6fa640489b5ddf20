/** No statement changes an account, a key, the catalogue or an entry unless the same function writes the line of the log. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../../lib/store/', import.meta.url)
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .sort()
  .map(file => ({ file, text: readFileSync(new URL(file, root), 'utf8') }))

/** What this file changes is no decision of anybody. */
const EXEMPT = ['usage/prune.ts']

const WRITES =
  /(INSERT( \$\{\S+\})? INTO|UPDATE|DELETE FROM) (accounts|api_keys|catalog_rows|entries)\b(?! SET (\w+) = \4\b)/
/** Runs a statement that changes a row of them; a statement that sets a column to itself is a lock. */
const RUNS =
  /tx\s*\.run\(\s*(insert\b|this\.#put\b|DELETE\b|[`'](?:UPDATE|INSERT INTO|DELETE FROM) (?:accounts|api_keys|catalog_rows|entries)\b(?! SET (\w+) = \2\b))|insertEntry\(tx/

const functionsOf = (text: string): string[] => text.split(/\n {0,2}\}\n/)

const writers = sources.filter(({ file, text }) => WRITES.test(text) && !EXEMPT.includes(file))

t.same(
  writers.map(({ file }) => file),
  ['accounts/accounts.ts', 'accounts/keys.ts', 'books/entries.ts', 'catalogue/catalogue.ts', 'people/person.ts'],
)

for (const { file, text } of writers)
  t.test(file, async t => {
    const changing = functionsOf(text).filter(body => RUNS.test(body) && !/function insertEntry\b/.test(body))
    t.not(changing.length, 0)
    for (const body of changing)
      t.match(body, /record(Actions?|Edit)\(tx/, body.trim().split('\n').slice(0, 3).join(' '))
  })
