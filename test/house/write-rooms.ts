/**
 * `npm run rooms` writes what the code says into the table of rooms in docs/architecture.md: the doors of each room, the rooms that use it
 * and the rooms that it uses. Names, order and the second column are people's. A cell that says "all" stays so.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { doorsOf, ROOT, roomOf, rooms, sources } from './house.ts'

const page = path.join(ROOT, 'docs/architecture.md')
const quoted = (names: string[]): string => names.map(name => `\`${name}\``).join(' ')
const order = rooms.map(({ name }) => name).reverse()
const open = new Set(rooms.filter(({ users }) => users === null).map(({ name }) => name))

/** The rooms that import each room. */
const importers = new Map(order.map(name => [name, new Set<string>()]))
for (const { imports, room } of sources) for (const to of imports) importers.get(roomOf(to))?.add(room)
const usersOf = (room: string): string[] => order.filter(name => name !== room && importers.get(room)?.has(name))
const text = readFileSync(page, 'utf8')
const written = text.split('\n').map(line => {
  const cells = line.split('|').map(cell => cell.trim())
  const name = (cells[1] ?? '').slice(1, -1)
  if (cells.length !== 7 || !order.includes(name)) return line
  const doors =
    cells[3] === 'all' ? 'all' : quoted(doorsOf(name).map(door => door.slice(name.length + 1, -'.ts'.length)))
  const users = cells[4] === 'all' ? 'all' : quoted(usersOf(name))
  const uses = quoted(order.filter(other => !open.has(other) && other !== name && usersOf(other).includes(name)))
  return `| ${[cells[1], cells[2], doors, users, uses].join(' | ')} |`
})
writeFileSync(page, written.join('\n'))
