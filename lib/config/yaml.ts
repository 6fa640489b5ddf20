// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
/**
 * Reads a YAML file of ours (config or catalogue) and remembers where everything stands, so that every problem can be
 * reported as `FILE:LINE:COLUMN: path.to[0].key: expected …, found …`.
 *
 * One walk over the parsed nodes builds the plain value, fills in the variables (`${NAME}`, `${file:PATH}`) and records
 * the position and the spelling of each path. Problems show what is written in the file and never the value of a
 * variable, because variables are where secrets come from.
 */
import { readFileSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
} from 'yaml'
import { z } from 'zod'
import type { CatalogKind } from '../terms/records.ts'

/** The operator's files are wrong. `problems` has one line for each mistake; commands print them without a stack. */
export class ConfigError extends Error {
  override name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

export type Path = readonly PropertyKey[]

interface ProblemOptions {
  /** The value is a secret and must not be shown. */
  hidden?: boolean
  /** The problem is about the key and not about its value. */
  atKey?: boolean
  /** A list or a map was expected. A single value in its place is not shown: it may be a secret one level too high. */
  shape?: boolean
  /** Name of the rule that found it, which the line ends with. */
  rule?: string
}

/** What a file refers to beside itself, so that it can be read on another machine: values of variables, and files by the names that it has for them. */
export interface Referred {
  env: Record<string, string>
  files: Record<string, string>
}

const NOT_SHOWN = 'something else (not shown: a secret)'

/**
 * Where a path stands in the file: the offsets of its key and of its value, and the value in a form that may be shown.
 */
interface Place {
  key: number
  value: number
  shown: string
}

interface Finding {
  offset: number
  line: string
}

const linesOf = (findings: Finding[]): string[] => [
  ...new Set(findings.sort((a, b) => a.offset - b.offset).map(finding => finding.line)),
]

const DEEPEST = 32
/** The largest file, in bytes, that `${file:PATH}` reads. */
const LONGEST_SECRET = 64 * 1024
const FILE = 'file:'
/** Bounds what a small file can become: YAML aliases can multiply it ("billion laughs"). */
const MOST_VALUES = 1_000_000
const MOST_ALIASES = 2000
const LONGEST_SHOWN = 60
const VARIABLE = /\$\$\{|\$\{([^}]*)\}/g
const NAME_AND_DEFAULT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

export class Source {
  readonly file: string
  /**
   * The document as plain values. Map entries without a value are left out, so that the schema fills in their default.
   */
  readonly value: unknown
  readonly #env: NodeJS.ProcessEnv
  readonly #files: Record<string, string> | null
  /** What was looked up outside of the file. */
  readonly referred: Referred = { env: {}, files: {} }
  readonly #lines = new LineCounter()
  readonly #document: Document
  readonly #places = new Map<string, Place>()
  /**
   * Paths whose variable could not be resolved, or that are nested too deep. Their problem is reported; the schema's
   * about them is noise.
   */
  readonly #broken = new Set<string>()
  readonly #problems: Finding[] = []
  readonly #warnings: Finding[] = []
  #valueCount = 0
  #aliasCount = 0

  /**
   * `env` has the values of variables, and `files` the files that the text names, where they are not those of this machine. Throws
   * ConfigError when `text` is not valid YAML.
   */
  constructor(text: string, file: string, env: NodeJS.ProcessEnv, files: Record<string, string> | null = null) {
    this.file = file
    this.#env = env
    this.#files = files
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
    if (document.errors.length > 0) {
      throw new ConfigError(
        document.errors.map(e => `${this.#at(e.pos[0])}: expected YAML: ${withoutQuote(e.message)}`),
      )
    }
    this.#document = document
    this.value = document.contents === null ? {} : this.#read(document.contents as Node, [], 0, 0)
  }

  /** Adds a problem. A `path` that is not in the file gets the position of the nearest enclosing value that is. */
  problem(path: Path, expected: string, options: ProblemOptions = {}): void {
    this.#find(this.#problems, path, expected, options)
  }

  /** Adds a warning: the setting works, and is probably not what was meant. */
  warn(path: Path, expected: string, options: ProblemOptions = {}): void {
    this.#find(this.#warnings, path, expected, options)
  }

  /** Returns the warnings since the last call, in the order of the file. */
  takeWarnings(): string[] {
    return linesOf(this.#warnings.splice(0))
  }

  #find(into: Finding[], path: Path, expected: string, options: ProblemOptions): void {
    if (this.#broken.has(formatPath(path))) return
    const place = this.#places.get(formatPath(path))
    const found = options.atKey ? showText(String(path.at(-1))) : place === undefined ? 'nothing' : place.shown
    const isSingle = options.shape && !/^(a map|a list|nothing)$/.test(found)
    const shown = options.hidden && place !== undefined ? NOT_SHOWN : isSingle ? 'a single value' : found
    const said = path.length === 0 && options.rule !== undefined ? '' : `, found ${shown}`
    const offset = place === undefined ? this.#nearest(path) : options.atKey ? place.key : place.value
    const rule = options.rule === undefined ? '' : ` [${options.rule}]`
    this.#add(into, offset, path, `expected ${expected}${said}${rule}`)
  }

  /** Throws a ConfigError with all problems, in the order of the file; returns when there are none. */
  throwProblems(): void {
    if (this.#problems.length === 0) return
    throw new ConfigError(linesOf(this.#problems))
  }

  #add(into: Finding[], offset: number, path: Path, text: string): void {
    const steps = path.map(step => (typeof step === 'string' && mayBeSecret(step) ? '…' : step))
    const where = path.length === 0 ? '' : `${formatPath(steps)}: `
    into.push({ offset, line: `${this.#at(offset)}: ${where}${text}` })
  }

  #at(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${this.file}:${Math.max(1, line)}:${Math.max(1, col)}`
  }

  #nearest(path: Path): number {
    for (let length = path.length - 1; length > 0; length--) {
      const place = this.#places.get(formatPath(path.slice(0, length)))
      if (place !== undefined) return place.value
    }
    return 0
  }

  #read(node: Node | null | undefined, path: Path, keyOffset: number, depth: number): unknown {
    const offset = node?.range?.[0] ?? keyOffset
    if (isAlias(node)) {
      this.#aliasCount++
      node = node.resolve(this.#document)
    }
    this.#places.set(formatPath(path), { key: keyOffset, value: offset, shown: show(node) })
    if (depth > DEEPEST) return this.#break(path, 'less nesting')
    if (++this.#valueCount > MOST_VALUES || this.#aliasCount > MOST_ALIASES) {
      throw new ConfigError([`${this.#at(offset)}: ${formatPath(path)}: expected fewer values`])
    }
    if (isMap(node)) return this.#readMap(node, path, depth)
    if (isSeq(node)) return node.items.map((item, i) => this.#read(item as Node, [...path, i], offset, depth + 1))
    if (!isScalar(node)) return undefined
    return typeof node.value === 'string' ? this.#substitute(node.value, path) : node.value
  }

  #readMap(map: YAMLMap, path: Path, depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = []
    for (const { key, value } of map.items) {
      const offset = (key as Node).range?.[0] ?? 0
      if (!isScalar(key)) {
        this.#add(this.#problems, offset, path, 'expected a plain key, found something else')
        continue
      }
      const name = String(key.value)
      const child = this.#read(value as Node | null, [...path, name], offset, depth + 1)
      if (child !== null && child !== undefined) entries.push([name, child])
    }
    return Object.fromEntries(entries)
  }

  /**
   * Fills in `${NAME}`, `${NAME:-default}` (the default also for an empty NAME) and `${file:PATH}`; `$${` is a plain
   * `${`.
   */
  #substitute(text: string, path: Path): string {
    return text.replace(VARIABLE, (whole, inside: string | undefined) => {
      if (inside === undefined) return '${'
      if (inside.startsWith(FILE)) return this.#content(inside.slice(FILE.length), path)
      const [, name, fallback] = NAME_AND_DEFAULT.exec(inside) ?? []
      if (name === undefined) {
        this.#break(path, 'a variable as ${NAME}, ${NAME:-default} or ${file:PATH}')
        return whole
      }
      const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined
      if (value !== undefined) this.referred.env[name] = value
      if (fallback !== undefined) return value === undefined || value === '' ? fallback : value
      if (value === undefined) this.#break(path, `the environment variable ${name} to be set`)
      return value ?? whole
    })
  }

  /** The content of a file that holds a secret, without the line break at its end. */
  #content(file: string, path: Path): string {
    try {
      if (this.#files !== null || statSync(this.resolve(file)).size <= LONGEST_SECRET) {
        const text = this.read(file)
        if (text.length <= LONGEST_SECRET) return text.replace(/\r?\n$/, '')
      }
    } catch {
      // reported below
    }
    this.#break(path, `${file} to be a readable file of at most ${LONGEST_SECRET / 1024} KiB`)
    return ''
  }

  /** The text of a file that this one names. Throws when it cannot be read. */
  read(file: string): string {
    const there = this.#files
    if (there !== null && !Object.hasOwn(there, file)) throw new Error(`${file} was not sent`)
    const text = there === null ? readFileSync(this.resolve(file), 'utf8') : (there[file] as string)
    this.referred.files[file] = text
    return text
  }

  /** The path of a file that this one refers to; a relative one is taken from the folder of this file. */
  resolve(file: string): string {
    return isAbsolute(file) ? file : join(dirname(this.file), file)
  }

  #break(path: Path, expected: string): void {
    this.problem(path, expected)
    this.#broken.add(formatPath(path))
  }
}

/** Throws ConfigError when the file cannot be read or is not valid YAML. */
export const readSource = (file: string, env: NodeJS.ProcessEnv): Source => new Source(readText(file), file, env)

/** Throws ConfigError when the file cannot be read. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError([`${file}: expected a readable file, found none (${(error as NodeJS.ErrnoException).code})`])
  }
}

/** Writes a path like `channels[0].models["beta-4.7"]`. */
export function formatPath(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[\w-]+$/.test(String(step))) text += `${text === '' ? '' : '.'}${String(step)}`
    else text += `[${JSON.stringify(String(step))}]`
  }
  return text
}

/** How a value is written in the file, without what looks like a credential. */
function show(node: unknown): string {
  if (isMap(node)) return 'a map'
  if (isSeq(node)) return 'a list'
  if (!isScalar(node) || node.value === null) return 'nothing'
  return typeof node.value === 'string' ? showText(node.value) : String(node.value)
}

/**
 * A text in a form that a problem may show: what looks like a secret, because somebody wrote it in the wrong place, is
 * left out.
 */
function showText(text: string): string {
  const open = text.replace(/(:-)[^}]*/g, '$1…').replace(/\/\/.*@/g, '//…@')
  if (mayBeSecret(open)) return 'a text (not shown: it may be a secret)'
  return JSON.stringify(open.length > LONGEST_SHOWN ? `${open.slice(0, LONGEST_SHOWN)}…` : open)
}

/** True for the known prefixes of keys, and for long words that mix letters and digits as generated secrets do. */
const mayBeSecret = (text: string): boolean =>
  /(^|[^a-z])(sk|pk|key|gsk|xai|ghp|akia|aiza|bearer)[-_ ]?[\w-]{6}/i.test(text) ||
  (text.match(/[A-Za-z0-9+/=]{16,}/g) ?? []).some(word => /\d/.test(word) && /[A-Za-z]/.test(word))

/** The parser's message without the piece of the file that it quotes, which may be a secret. */
const withoutQuote = (text: string): string => (text.split('\n', 1)[0] as string).split(': ', 1)[0] as string

/** The most single edits between a name and its misspelling. */
const FARTHEST_TYPO = 2

/** Returns ` (did you mean X?)` with a leading space, or an empty text when no known name is near. */
export function didYouMean(found: unknown, known: Iterable<string>): string {
  const written = String(found)
  let best = ''
  let least = FARTHEST_TYPO + 1
  for (const name of known) {
    if (Math.abs(name.length - written.length) >= least) continue
    const distance = editDistance(written, name)
    // two names of one or two letters are always within two edits, so a guess must have a letter in common
    if (distance < least && distance < Math.min(written.length, name.length)) [best, least] = [name, distance]
  }
  return best === '' ? '' : ` (did you mean ${best}?)`
}

/** What somebody should have written who did not write one of the known names. */
export const oneOfThese = (written: unknown, known: readonly string[]): string =>
  `one of ${known.join(', ')}${didYouMean(written, known)}`

/**
 * Damerau-Levenshtein distance: the fewest insertions, deletions, replacements and swaps of neighbours from `a` to `b`.
 */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return last[b.length]!
}

/** Returns the parsed value, or null after adding the problems to `source`. */
export function validate<S extends z.ZodType>(schema: S, source: Source): z.output<S> | null {
  const result = schema.safeParse(source.value)
  if (result.success) return result.data
  for (const issue of result.error.issues) report(schema, source, issue)
  return null
}

function report(schema: z.ZodType, source: Source, issue: z.core.$ZodIssue): void {
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, issue.path)
    for (const key of issue.keys) source.problem([...issue.path, key], oneOfThese(key, known), { atKey: true })
  } else if (issue.code === 'custom') {
    source.problem(issue.path, issue.message, { hidden: issue.params?.['hidden'] === true })
  } else source.problem(issue.path, expectedShape(issue), { shape: true })
}

function expectedShape(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.expected === 'array' ? 'a list' : 'a map'
  if (issue.code === 'too_small') return `at least ${issue.minimum} ${issue.minimum === 1 ? 'entry' : 'entries'}`
  return issue.message
}

/** The keys that the schema allows in the map at `path`. */
function keysAt(schema: z.ZodType, path: Path): string[] {
  let at: unknown = unwrap(schema)
  for (const step of path) {
    if (at instanceof z.ZodObject) at = unwrap(at.shape[String(step)])
    else if (at instanceof z.ZodArray) at = unwrap(at.element)
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : []
}

function unwrap(schema: unknown): unknown {
  while (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) schema = schema.unwrap()
  return schema
}

/**
 * Reports every name that occurs a second time. `path(i)` is where the name of row `i` is written. `hidden`: the names
 * are secrets, which problems must not show.
 */
export function refuseDuplicates(source: Source, names: string[], path: (i: number) => Path, hidden = false): void {
  const first = new Map<string, number>()
  names.forEach((name, i) => {
    const earlier = first.get(name)
    if (earlier === undefined) first.set(name, i)
    else source.problem(path(i), `something else than ${formatPath(path(earlier))} has`, { hidden })
  })
}

// What the rules of `lib/sense` find in a config or a catalogue: a setting that can be used and is probably not what was meant.

/** A row of the catalogue; keys are named `account/name`. */
export interface RowName {
  kind: CatalogKind
  name: string
}

export interface SenseFinding {
  /** Name of the rule, which `accept` may list. */
  rule: string
  /** `refused`: nothing with it comes into force unless it is accepted. */
  severity: 'refused' | 'warned'
  /** null = it is about the config; with `ofCatalog`, about the catalogue file as a whole. */
  row: RowName | null
  ofCatalog?: true
  /** Within the row, or within the config. */
  path: Path
  /** What should stand there, as the text that follows "expected". */
  expected: string
  /** The value is a secret and must not be shown. */
  hidden?: boolean
  /** Further rows that it is about. */
  others?: readonly RowName[]
  /** What was found, to tell whether it is still the same. */
  value: unknown
}
