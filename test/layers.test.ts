import path from 'node:path'
import t from 'tap'
import { doorsOf, rooms, sources } from './house/house.ts'

const names = rooms.map(({ name }) => name)

/** The folder below lib, whatever rooms stand inside of it. */
const topOf = (room: string): string => room.split('/')[1] ?? room

/** What stays so, whatever the table is changed to. */
const FORBIDDEN: [rooms: string, to: RegExp, why: string][] = [
  [
    'terms store ledger access channels pricing operations',
    /^(node:https?2?|lib\/base\/(http|reply)\.ts)$/,
    'engines and operations know nothing of HTTP',
  ],
  ['access channels pricing', /^lib\/ledger\//, 'only stages bring the ledger and the others together'],
  [
    'protocols',
    /^lib\/(base\/money\.ts$|(store|ledger|access|channels|pricing)\/)/,
    'protocols know nothing of money, keys or channels',
  ],
  [
    'operations',
    /^lib\/(access|channels|pricing|protocols(?!\/(names|words\/usage)\.ts)|upstream|exchange)\//,
    'operations work on the store, not on requests, of which they know names: of protocols and of what usage consists of',
  ],
  [names.map(topOf).join(' '), /^(test|bench)\//, 'the product does not need its tests'],
]

const files = sources.map(({ file }) => file)
const byFile = new Map(sources.map(source => [source.file, source]))
const importsOf = (file: string): string[] => byFile.get(file)?.imports ?? []
t.test('every file has a room, and rooms are used from above and through their doors', async t => {
  t.ok(files.length > 40)
  t.ok(rooms.length > 10)
  const users = new Map(names.map(room => [room, new Set<string>()]))
  for (const { file, room, imports } of sources) {
    t.ok(names.includes(room), `${file} stands in a room of docs/architecture.md`)
    for (const target of imports) {
      for (const [within, to, why] of FORBIDDEN)
        if (within.split(' ').includes(topOf(room))) t.notMatch(target, to, `${file}: ${why}`)
      const owner = byFile.get(target)?.room
      if (owner === undefined || owner === room) continue
      t.ok(names.indexOf(owner) < names.indexOf(room), `${file} imports ${target}, which is above it`)
      users.get(owner)?.add(room)
    }
  }
  const same = (found: Iterable<string> = [], said: string[] | null, what: string) =>
    said === null || t.same([...found].sort(), [...said].sort(), what)
  for (const { name, doors, users: said, uses } of rooms) {
    const found = doorsOf(name).map(door => door.slice(name.length + 1, -'.ts'.length))
    same(found, doors, `the doors of ${name} are those that docs/architecture.md names`)
    same(users.get(name), said, `${name} is used by the rooms that docs/architecture.md names`)
    const used = rooms.filter(other => other.users !== null && users.get(other.name)?.has(name))
    same(
      used.map(room => room.name),
      uses,
      `${name} uses the rooms that docs/architecture.md names, beside those of all`,
    )
  }
})

t.test('the record of an exchange runs no code of others, and knows nobody of its room', t => {
  const record = 'lib/exchange/record/exchange.ts'
  t.same(valueImports(record), [])
  t.same(
    importsOf(record).filter(target => byFile.get(target)?.room.startsWith('lib/exchange')),
    [],
  )
  t.end()
})

t.test('no file imports itself in a circle at run time', async t => {
  const graph = new Map(files.map(f => [f, valueImports(f)]))
  const done = new Set<string>()
  const visit = (file: string, trail: string[]): void => {
    if (trail.includes(file)) t.fail(`circle: ${[...trail.slice(trail.indexOf(file)), file].join(' → ')}`)
    else if (!done.has(file)) {
      for (const next of graph.get(file) ?? []) visit(next, [...trail, file])
      done.add(file)
    }
  }
  for (const file of files) visit(file, [])
  t.ok(files.every(file => done.has(file)))
})

t.test(
  'node:http is taken from lib/base/http.ts, and node:tls from lib/upstream/dial.ts, so that the start loads neither the fetch client nor certificates',
  t => {
    const isValue = /^import (?!type )(?!\{ (?:type \w+(?:, )?)+ \}).*'(?:node:)?(?:https?|tls)'$/m
    t.same(
      sources.flatMap(({ file, text }) => (/^lib\/(?!cli\/)/.test(file) && isValue.test(text) ? [file] : [])),
      [],
    )
    t.end()
  },
)

t.test('no file knows itself in a circle, types included', async t => {
  const graph = new Map(files.map(f => [f, importsOf(f)]))
  const reaches = (from: string, seen = new Set<string>()): Set<string> => {
    for (const next of graph.get(from) ?? []) if (graph.has(next) && !seen.has(next)) reaches(next, seen.add(next))
    return seen
  }
  t.same(
    files.filter(file => reaches(file).has(file)),
    [],
  )
})

/** Without `import type`, which leaves nothing behind. */
function valueImports(file: string): string[] {
  const text = (byFile.get(file)?.text ?? '').replaceAll(/^import type .*$/gm, '')
  return [...text.matchAll(/^(?:import|export)\s+(?:[^'\n]|\n(?!import|export))*?from\s+'(\.[^']+)'/gm)]
    .filter(m => !/^import\s*\{(\s*type \w+,?)+\s*\}/.test(m[0]))
    .map(m => path.posix.normalize(path.posix.join(path.posix.dirname(file), m[1] as string)))
}
