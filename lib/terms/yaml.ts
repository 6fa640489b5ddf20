// biome-ignore-all lint/suspicious/noTemplateCurlyInString: that is how our YAML files name variables
/**
 * YAML files of ours with their positions: every problem names `FILE:LINE:COLUMN: path.to[0].key: expected …, found …`.
 *
 * One walk over the parsed nodes makes the plain value, fills in `${NAME}` and remembers where each path stands and how
 * it is written. Problems show what is written in the file, never what the environment put there, because that is
 * where secrets come from.
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

/** What is wrong with files of the operator: one line for each problem, to be shown without a stack. */
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
  /** A secret stands there. */
  hidden?: boolean
  /** It is about the key and not about its value. */
  atKey?: boolean
  /** A list or a map was expected. What else stands there may be anything, a secret one level too high for instance. */
  shape?: boolean
}

const NOT_SHOWN = 'something else (not shown: a secret)'

/** Where a path stands in the file: offsets of its key and its value, and the value as it may be shown. */
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
/** Of a file that a variable names. */
const LONGEST_SECRET = 64 * 1024
const FILE = 'file:'
/** Aliases can multiply a small file. */
const MOST_VALUES = 1_000_000
const MOST_ALIASES = 2000
const LONGEST_SHOWN = 60
const VARIABLE = /\$\$\{|\$\{([^}]*)\}/g
const NAME_AND_DEFAULT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

export class Source {
  readonly file: string
  /** The document as plain values; map entries without value are left out, so that they take their default. */
  readonly value: unknown
  readonly #env: NodeJS.ProcessEnv
  readonly #lines = new LineCounter()
  readonly #document: Document
  readonly #places = new Map<string, Place>()
  /** Paths whose value could not be made: what a schema says about them is noise. */
  readonly #broken = new Set<string>()
  readonly #problems: Finding[] = []
  readonly #warnings: Finding[] = []
  #valueCount = 0
  #aliasCount = 0

  /** Throws ConfigError when `text` is no YAML. */
  constructor(text: string, file: string, env: NodeJS.ProcessEnv) {
    this.file = file
    this.#env = env
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
    if (document.errors.length > 0) {
      throw new ConfigError(
        document.errors.map(e => `${this.#at(e.pos[0])}: expected YAML: ${withoutQuote(e.message)}`),
      )
    }
    this.#document = document
    this.value = document.contents === null ? {} : this.#read(document.contents as Node, [], 0, 0)
  }

  /** Adds a problem. For a `path` that is not in the file the nearest map around it tells the position. */
  problem(path: Path, expected: string, options: ProblemOptions = {}): void {
    this.#find(this.#problems, path, expected, options)
  }

  /** The same for what works and is probably not meant. */
  warn(path: Path, expected: string, options: ProblemOptions = {}): void {
    this.#find(this.#warnings, path, expected, options)
  }

  /** What was warned of since it was asked last, in the order of the file. */
  takeWarnings(): string[] {
    return linesOf(this.#warnings.splice(0))
  }

  #find(into: Finding[], path: Path, expected: string, options: ProblemOptions): void {
    if (this.#broken.has(formatPath(path))) return
    const place = this.#places.get(formatPath(path))
    const found = options.atKey ? showText(String(path.at(-1))) : place === undefined ? 'nothing' : place.shown
    const isSingle = options.shape && !/^(a map|a list|nothing)$/.test(found)
    const shown = options.hidden && place !== undefined ? NOT_SHOWN : isSingle ? 'a single value' : found
    const offset = place === undefined ? this.#nearest(path) : options.atKey ? place.key : place.value
    this.#add(into, offset, path, `expected ${expected}, found ${shown}`)
  }

  /** Throws what was found, in the order of the file. */
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

  /** `${NAME}`, `${NAME:-default}` (also for an empty NAME) and `${file:PATH}`; `$${` is a plain `${`. */
  #substitute(text: string, path: Path): string {
    return text.replace(VARIABLE, (whole, inside: string | undefined) => {
      if (inside === undefined) return '${'
      if (inside.startsWith(FILE)) return this.#content(inside.slice(FILE.length), path)
      const [, name, fallback] = NAME_AND_DEFAULT.exec(inside) ?? []
      if (name === undefined) {
        this.#break(path, 'a variable as ${NAME}, ${NAME:-default} or ${file:PATH}')
        return whole
      }
      const value = this.#env[name]
      if (fallback !== undefined) return value === undefined || value === '' ? fallback : value
      if (value === undefined) this.#break(path, `the environment variable ${name} to be set`)
      return value ?? whole
    })
  }

  /** Of a file with a secret, without the line break at its end. */
  #content(file: string, path: Path): string {
    const full = this.resolve(file)
    try {
      const { size } = statSync(full)
      if (size <= LONGEST_SECRET) return readFileSync(full, 'utf8').replace(/\r?\n$/, '')
    } catch {
      // reported below
    }
    this.#break(path, `${file} to be a readable file of at most ${LONGEST_SECRET / 1024} KiB`)
    return ''
  }

  /** A file that this one names: from its folder. */
  resolve(file: string): string {
    return isAbsolute(file) ? file : join(dirname(this.file), file)
  }

  #break(path: Path, expected: string): void {
    this.problem(path, expected)
    this.#broken.add(formatPath(path))
  }
}

/** Throws ConfigError when the file cannot be read or is no YAML. */
export function readSource(file: string, env: NodeJS.ProcessEnv): Source {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError([`${file}: expected a readable file, found none (${(error as NodeJS.ErrnoException).code})`])
  }
  return new Source(text, file, env)
}

/** `channels[0].models["beta-4.7"]` */
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

/** A text as it may stand in a problem: a secret that was written in the wrong place is recognised by its looks. */
function showText(text: string): string {
  const open = text.replace(/(:-)[^}]*/g, '$1…').replace(/\/\/.*@/g, '//…@')
  if (mayBeSecret(open)) return 'a text (not shown: it may be a secret)'
  return JSON.stringify(open.length > LONGEST_SHOWN ? `${open.slice(0, LONGEST_SHOWN)}…` : open)
}

/** A known beginning, or a long word of letters and digits, as machines make them. */
const mayBeSecret = (text: string): boolean =>
  /(^|[^a-z])(sk|pk|key|gsk|xai|ghp|akia|aiza|bearer)[-_ ]?[\w-]{6}/i.test(text) ||
  (text.match(/[A-Za-z0-9+/=]{16,}/g) ?? []).some(word => /\d/.test(word) && /[A-Za-z]/.test(word))

/** What a parser says, without the piece of the file that it quotes. */
const withoutQuote = (text: string): string => (text.split('\n', 1)[0] as string).split(': ', 1)[0] as string
