/** The sizes that keep a question about the code at few files: of files, functions, rooms, doors and chains of imports. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { OPERATIONS } from '../../lib/console/api/rows.ts'
import { ADMIN_CALLS } from '../../lib/admin/rows.ts'
import {
  doorsOf,
  filesOf,
  fragments,
  longestChain,
  longFunctions,
  repeats,
  ROOT,
  rooms,
  sharedNames,
  soleInterfaces,
  sources,
  splinters,
  unusedExports,
} from './house.ts'

const MOST_LINES = 600
const MOST_OF_FUNCTION = 70
const MOST_FILES = 60
const MOST_DOORS = 6
const LONGEST_CHAIN = 8
const SHALLOW_LINES = 40

/** Folders and files whose entries are rows of one table: each may be small, and only the table imports it. */
const ROWS = [
  /^lib\/exchange\/stages\//,
  /^lib\/protocols\/[\w-]+\.ts$/, // the protocols of rows.ts
  /^lib\/console\/(api|clients)\//,
  /^web\/pages\//,
  /^tools\/simulator\/dialects\//,
]
/** Interfaces by which a file tells another one of its room what happens, and why a class would not do. */
const LISTENERS = {
  ParserEvents: 'test/upstream/answer-parser.test.ts listens in the place of a connection',
  PartEvents: 'test/protocols/forms.test.ts listens in the place of a form',
  ReadingEvents: 'the relay makes readings, so that a reading which imported the relay would close a circle',
}
const REPEATED_LINES = 6
/** Pairs of files with such a run, and why it stays. */
const TOLD_TWICE = {
  'lib/pay/alipay/alipay.ts lib/pay/wechat/wechat.ts': 'a class names its fields itself',
}
/**
 * Calls of one name that are two rows, since they take and tell other things: the admin API names accounts and keys as the catalogue file
 * does, and tells channels and costs; the console names them by public ids.
 */
const TWO_ROWS = [
  ...['keys.list', 'keys.create', 'keys.change', 'keys.roll', 'groups.list', 'usage.csv', 'refusals.list'],
  ...['entries.list', 'statements.read', 'actions.list', 'document.read'],
]
/** Rooms whose every file others may import: `base` is open to all, and pages import types of calls. */
const OPEN = new Set(rooms.filter(({ doors }) => doors === null).map(({ name }) => name))

t.test('no file is longer than 600 lines, and no function longer than 70', async t => {
  t.same(
    sources.filter(({ lines }) => lines > MOST_LINES).map(({ file }) => file),
    [],
  )
  t.same(longFunctions(MOST_OF_FUNCTION), [])
})

t.test('a room has at most 60 files, 6 doors and chains of 8 imports', async t => {
  for (const { name } of rooms) {
    const counted = filesOf(name).filter(({ file }) => !ROWS.some(pattern => pattern.test(file)))
    t.ok(counted.length <= MOST_FILES, `${name} has ${counted.length} files`)
    const doors = doorsOf(name)
    t.ok(OPEN.has(name) || doors.length <= MOST_DOORS, `${name} has ${doors.length} doors`)
    const chain = longestChain(name)
    t.ok(chain.length <= LONGEST_CHAIN, `${name} has a chain of ${chain.length}: ${chain.join(' → ')}`)
  }
})

t.test('a file under 40 lines that one file imports is a row of a table, or belongs into its importer', async t => {
  t.same(
    splinters(SHALLOW_LINES).filter(file => !ROWS.some(pattern => pattern.test(file))),
    [],
  )
})

t.test('no run of six lines stands twice in lib: no duplicates, no second wing', async t => {
  const found = repeats(REPEATED_LINES).map(([file, , other]) => `${file} ${other}`)
  t.same(
    new Set(found),
    new Set(Object.keys(TOLD_TWICE)),
    `${repeats(REPEATED_LINES).map(([file, line, other, otherLine]) => `${file}:${line} ~ ${other}:${otherLine}`)}`,
  )
})

t.test('a call that both APIs have is one row: no second wing', async t => {
  const admin = new Map(ADMIN_CALLS.map(row => [row.id, row.summary]))
  const both = OPERATIONS.filter(({ id }) => admin.has(id))
  t.same(
    both.filter(({ id, summary }) => admin.get(id) !== summary).map(({ id }) => id),
    TWO_ROWS,
  )
})

t.test('an exported name has one meaning in lib', async t => {
  t.same(sharedNames(), [])
})

t.test('a name that only its own file uses is not exported', async t => {
  t.same(unusedExports(), [])
})

t.test('an interface with methods has several implementations, or a test that puts another in its place', async t => {
  t.same(
    soleInterfaces().filter(([name]) => !(name in LISTENERS)),
    [],
  )
})

t.test('comments on members begin with what they speak of', async t => {
  t.same(fragments(), [])
})

t.test('lib grows only with a row in the changelog that says to how many lines', async t => {
  const changelog = readFileSync(path.join(ROOT, 'CHANGELOG.md'), 'utf8')
  const allowed = /`lib` has at most ([\d,]+) lines/.exec(changelog)?.[1]?.replaceAll(',', '')
  const lines = sources.filter(({ file }) => file.startsWith('lib/')).reduce((sum, source) => sum + source.lines, 0)
  t.ok(lines <= Number(allowed), `lib has ${lines} lines: say in CHANGELOG.md what they are for`)
})
