import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'

const ROOT = path.resolve(import.meta.dirname, '..')

interface Room {
  name: string
  /** Files that other rooms import; null: any. */
  doors: string[] | null
  /** Rooms that import them; null: any above. */
  users: string[] | null
  /** Rooms that it imports, without those that all may use. */
  uses: string[]
}

/** The table of docs/architecture.md, from the ground up. */
const rooms: Room[] = readFileSync(path.join(ROOT, 'docs/architecture.md'), 'utf8')
  .split('\n')
  .filter(line => line.startsWith('| `lib/'))
  .map(line => {
    const [, name = '', , doors = '', users = '', uses = ''] = line.split('|').map(cell => cell.trim())
    return {
      name: name.slice('`lib/'.length, -1),
      doors: listOf(doors),
      users: listOf(users),
      uses: listOf(uses) ?? [],
    }
  })
  .reverse()
const names = rooms.map(({ name }) => name)

function listOf(cell: string): string[] | null {
  return cell === 'all' ? null : [...cell.matchAll(/`([\w/-]+)`/g)].map(found => found[1] as string)
}

/** What stays so, whatever the table is changed to. */
const FORBIDDEN: [rooms: string, to: RegExp, why: string][] = [
  [
    'terms store ledger access channels pricing operations',
    /^(node:https?2?|lib\/base\/http\.ts)$/,
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
    /^lib\/(access|channels|pricing|protocols|upstream|exchange)\//,
    'operations work on the store, not on requests',
  ],
  [names.join(' '), /^(test|bench)\//, 'the product does not need its tests'],
]

const files = readdirSync(path.join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' })
  .filter(f => f.endsWith('.ts'))
  .map(f => `lib/${f}`)

/** The folder below lib; lib/cli.ts belongs to lib/cli. */
const roomOf = (file: string): string => (file.split('/')[1] ?? '').replace(/\.ts$/, '')

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  const found = [...text.matchAll(/(?:from\s+|import\(\s*|^import\s+)'([^']+)'/gm)].map(m => m[1] as string)
  return found.map(f => (f.startsWith('.') ? path.posix.normalize(path.posix.join(path.posix.dirname(file), f)) : f))
}

t.test('every file has a room, and rooms are used from above and through their doors', async t => {
  t.ok(files.length > 40)
  t.ok(rooms.length > 10)
  const doors = new Map(names.map(room => [room, new Set<string>()]))
  const users = new Map(names.map(room => [room, new Set<string>()]))
  for (const file of files) {
    const room = roomOf(file)
    t.ok(names.includes(room), `${file} stands in a room of docs/architecture.md`)
    for (const target of importsOf(file)) {
      for (const [within, to, why] of FORBIDDEN)
        if (within.split(' ').includes(room)) t.notMatch(target, to, `${file}: ${why}`)
      const owner = roomOf(target)
      if (!target.startsWith('lib/') || owner === room) continue
      t.ok(names.indexOf(owner) < names.indexOf(room), `${file} imports ${target}, which is above it`)
      doors.get(owner)?.add(target.slice(`lib/${owner}/`.length, -'.ts'.length))
      users.get(owner)?.add(room)
    }
  }
  const same = (found: Iterable<string> = [], said: string[] | null, what: string) =>
    said === null || t.same([...found].sort(), [...said].sort(), what)
  for (const room of rooms) {
    same(doors.get(room.name), room.doors, `the doors of lib/${room.name} are those that docs/architecture.md names`)
    same(users.get(room.name), room.users, `lib/${room.name} is used by the rooms that docs/architecture.md names`)
    const used = rooms.filter(other => other.users !== null && users.get(other.name)?.has(room.name))
    const usedNames = used.map(({ name }) => name)
    same(usedNames, room.uses, `lib/${room.name} uses the rooms that docs/architecture.md names, beside those of all`)
  }
})

t.test('the record of an exchange runs no code of others, and knows nobody of its room', t => {
  const record = 'lib/exchange/exchange.ts'
  t.same(valueImports(record), [])
  t.same(
    importsOf(record).filter(target => roomOf(target) === 'exchange'),
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
  const text = readFileSync(path.join(ROOT, file), 'utf8').replaceAll(/^import type .*$/gm, '')
  return [...text.matchAll(/^(?:import|export)\s+(?:[^'\n]|\n(?!import|export))*?from\s+'(\.[^']+)'/gm)]
    .filter(m => !/^import\s*\{(\s*type \w+,?)+\s*\}/.test(m[0]))
    .map(m => path.posix.normalize(path.posix.join(path.posix.dirname(file), m[1] as string)))
}
