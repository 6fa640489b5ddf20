/**
 * The house as figures: files, rooms, imports and exported names, read from the text of the sources. `npm run house` prints them, and
 * the tests of rooms and sizes compare them with what is allowed.
 *
 * A room is a row of the table in docs/architecture.md. A folder inside a room that has a row of its own is a room, too (a sub-room): a
 * file belongs to the room with the longest name that it stands below.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export const ROOT = path.resolve(import.meta.dirname, '../..')

export interface Room {
  name: string
  /** Files that other rooms import; null: any. */
  doors: string[] | null
  /** Rooms that import them; null: any above. */
  users: string[] | null
  /** Rooms that it imports, without those that all may use. */
  uses: string[]
}

export interface Source {
  file: string
  text: string
  lines: number
  room: string
  /** What it imports, types included: files of the house by their path, all else as it is written. */
  imports: string[]
}

/** The table of docs/architecture.md, from the ground up. */
export const rooms: Room[] = readFileSync(path.join(ROOT, 'docs/architecture.md'), 'utf8')
  .split('\n')
  .filter(line => /^\| `(lib|web|tools)[/`]/.test(line))
  .map(line => {
    const [, name = '', , doors = '', users = '', uses = ''] = line.split('|').map(cell => cell.trim())
    return { name: name.slice(1, -1), doors: listOf(doors), users: listOf(users), uses: listOf(uses) ?? [] }
  })
  .reverse()

const roomsByFile = new Map<string, string>()

export const sources: Source[] = ['lib', 'web', 'tools'].flatMap(top =>
  readdirSync(path.join(ROOT, top), { recursive: true, encoding: 'utf8' })
    .filter(found => found.endsWith('.ts'))
    .map(found => sourceOf(`${top}/${found}`)),
)

const byFile = new Map(sources.map(source => [source.file, source]))

/** The longest chain of imports inside a room, by its files. */
export function longestChain(room: string): string[] {
  const chains = new Map<string, string[]>()
  const from = (file: string): string[] => {
    const known = chains.get(file)
    if (known !== undefined) return known
    chains.set(file, [file])
    const next = inRoom(file, room).map(from)
    const longest = next.reduce<string[]>((best, chain) => (chain.length > best.length ? chain : best), [])
    const chain = [file, ...longest]
    chains.set(file, chain)
    return chain
  }
  return sources
    .filter(source => source.room === room)
    .map(source => from(source.file))
    .reduce<string[]>((best, chain) => (chain.length > best.length ? chain : best), [])
}

/** Files of at most so many lines that exactly one file of the house imports. */
export function splinters(mostLines: number): string[] {
  const importers = new Map<string, number>()
  for (const { imports } of sources)
    for (const target of new Set(imports)) importers.set(target, (importers.get(target) ?? 0) + 1)
  return sources.filter(({ file, lines }) => lines < mostLines && importers.get(file) === 1).map(({ file }) => file)
}

/** Names that more than one file exports, with those files. A name that is handed on (`export … from`) counts where it is made. */
export function sharedNames(within = /^lib\//): [name: string, files: string[]][] {
  const homes = new Map<string, string[]>()
  for (const { file, text } of sources) {
    if (!within.test(file)) continue
    const own = new Set<string>()
    for (const found of text.matchAll(EXPORTED)) own.add(found[1] as string)
    for (const name of own) homes.set(name, [...(homes.get(name) ?? []), file])
  }
  return [...homes].filter(([, files]) => files.length > 1).sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Exported names that no other file has a word for, nor a test or a bench: what a file keeps to itself is not exported. */
export function unusedExports(): [name: string, file: string][] {
  const files = new Map<string, Set<string>>()
  for (const { file, text } of [...sources, ...outside()])
    for (const word of new Set(text.match(/[\w$]+/g))) files.set(word, (files.get(word) ?? new Set()).add(file))
  return sources.flatMap(({ file, text }) =>
    [...text.matchAll(EXPORTED)]
      .map(([, name]) => name as string)
      .filter(name => files.get(name)?.size === 1)
      .map((name): [string, string] => [name, file]),
  )
}

/** The files of tests, benches and settings, which may import any file. */
function outside(): { file: string; text: string }[] {
  return ['test', 'bench', 'bin', 'config'].flatMap(top =>
    readdirSync(path.join(ROOT, top), { recursive: true, encoding: 'utf8' })
      .filter(found => /\.(ts|js|mjs)$|^gateway$/.test(found))
      .map(found => `${top}/${found}`)
      .map(file => ({ file, text: readFileSync(path.join(ROOT, file), 'utf8') })),
  )
}

/**
 * Interfaces of lib that one class implements and nothing else: no object of lib, tests or benches. Left out are those whose class
 * stands in another room, above: they are how a room is heard by one that it may not import.
 */
export function soleInterfaces(): [name: string, file: string, classFile: string][] {
  const classes = new Map<string, string[]>()
  for (const { file, text } of sources)
    for (const name of implemented(text)) classes.set(name, [...(classes.get(name) ?? []), file])
  const others = outside().map(({ text }) => text)
  const texts = [...sources.map(({ text }) => text), ...others]
  const declared = sources.flatMap(({ file, text }) =>
    [...text.matchAll(/^(?:export )?interface (\w+)/gm)].map(found => [found[1] as string, file] as const),
  )
  return declared.flatMap(([name, file]) => {
    const by = classes.get(name) ?? []
    const [only] = by
    if (only === undefined || by.length > 1 || roomOf(only) !== roomOf(file) || !file.startsWith('lib/')) return []
    const asObject = new RegExp(
      `: ${name} = \\{|\\): ${name} (=> \\(?\\{|\\{)|satisfies ${name}\\b|\\bas (unknown as )?${name}\\b`,
    )
    const implementsIt = new RegExp(`class [^{]* implements [^{]*\\b${name}\\b`)
    if (texts.some(text => asObject.test(text)) || others.some(text => implementsIt.test(text))) return []
    return [[name, file, only]]
  })
}

/** Functions and methods that have more lines of their own than allowed: what stands in functions inside of them is not theirs. */
export function longFunctions(mostLines: number): [file: string, line: number, lines: number][] {
  return sources.flatMap(({ file, text }) => {
    const lines = text.split('\n')
    const found = lines.flatMap((line, at): [from: number, to: number][] => {
      const head = /^( *)(?! |if |for |while |switch |return |else |catch |\} )(.*(\) ?(: .*)?|=>) \{)$/.exec(line)
      if (head === null || /^\s*(export )?(interface|class|type|abstract class|const enum) /.test(line)) return []
      const end = lines.findIndex(
        (one, i) => i > at && one.startsWith(`${head[1]}}`) && !/^ *\} (else|catch|finally)/.test(one),
      )
      return end < 0 ? [] : [[at, end]]
    })
    return found.flatMap(([from, to]) => {
      const inside = found.filter(([start, end]) => start > from && end < to)
      const outermost = inside.filter(one => !inside.some(([start, end]) => start < one[0] && one[1] < end))
      const own = to - from + 1 - outermost.reduce((sum, [start, end]) => sum + end - start + 1, 0)
      return own > mostLines ? [[file, from + 1, own] as [string, number, number]] : []
    })
  })
}

/** Comments on members and functions that begin with a preposition or a pronoun, so that nobody knows what they speak of. */
export function fragments(): [file: string, line: number, comment: string][] {
  return sources.flatMap(({ file, text }) =>
    text.split('\n').flatMap((line, at): [string, number, string][] => {
      const found = FRAGMENT.exec(line)
      return found === null ? [] : [[file, at + 1, found[1] as string]]
    }),
  )
}

export function doorsOf(room: string): string[] {
  const found = new Set<string>()
  for (const { imports, room: from } of sources)
    if (from !== room) for (const target of imports) if (byFile.get(target)?.room === room) found.add(target)
  return [...found].sort()
}

export function filesOf(room: string): Source[] {
  return sources.filter(source => source.room === room)
}

export function roomOf(file: string): string {
  const known = roomsByFile.get(file)
  if (known !== undefined) return known
  const bare = file.replace(/\.ts$/, '')
  const found = rooms.filter(({ name }) => bare === name || bare.startsWith(`${name}/`)).map(({ name }) => name)
  const room = found.reduce((longest, name) => (name.length > longest.length ? name : longest), '')
  roomsByFile.set(file, room)
  return room
}

const FRAGMENT =
  /\/\*\* ((?:Of|As|So|Such|It|Its|They|Them|Their|This|That|These|Those|Whom|Whose|Does|Is|And|Or|But)\b.*?)(?: \*\/)?$/

const EXPORTED =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|class|const|let|interface|type|enum)\s+([\w$]+)/gm

function inRoom(file: string, room: string): string[] {
  return (byFile.get(file)?.imports ?? []).filter(target => byFile.get(target)?.room === room && target !== file)
}

function implemented(text: string): string[] {
  return [...text.matchAll(/^\s*(?:export )?(?:abstract )?class [^{]*? implements ([^{]+)\{/gm)].flatMap(found =>
    (found[1] as string)
      .replaceAll(/<[^<>]*>/g, '')
      .split(',')
      .map(name => name.trim()),
  )
}

function listOf(cell: string): string[] | null {
  return cell === 'all' ? null : [...cell.matchAll(/`([\w/.-]+)`/g)].map(found => found[1] as string)
}

function sourceOf(file: string): Source {
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  const found = [...text.matchAll(/(?:from\s+|import\(\s*|^import\s+)'([^']+)'/gm)].map(match => match[1] as string)
  const imports = found.map(name =>
    name.startsWith('.') ? path.posix.normalize(path.posix.join(path.posix.dirname(file), name)) : name,
  )
  return { file, text, lines: text.split('\n').length - 1, room: roomOf(file), imports }
}

/** Lines that say something: without comments, imports, and lone punctuation. */
function telling({ text }: Source): [line: string, number: number][] {
  const blank = (found: string): string => found.replace(/[^\n]/g, '')
  return text
    .replace(/\/\*[\s\S]*?\*\//g, blank)
    .replace(/^(?:import|export (?:type )?\{)[\s\S]*? from '[^']*'$/gm, blank)
    .split('\n')
    .map((line, i): [string, number] => [line.replace(/\/\/ .*$/, '').trim(), i + 1])
    .filter(([line]) => /\w/.test(line))
}

/** Runs of so many lines that stand twice in lib, to the letter: the file and line of both. */
export function repeats(length: number): [file: string, line: number, other: string, otherLine: number][] {
  const first = new Map<string, [file: string, line: number]>()
  const found: ReturnType<typeof repeats> = []
  for (const source of sources.filter(({ file }) => file.startsWith('lib/'))) {
    const lines = telling(source)
    for (let i = 0; i + length <= lines.length; i++) {
      const run = lines.slice(i, i + length)
      const key = run.map(([line]) => line).join('\n')
      const known = first.get(key)
      if (known === undefined) first.set(key, [source.file, run[0]![1]])
      else found.push([...known, source.file, run[0]![1]])
    }
  }
  return found
}
