/** The words of a command: data goes to standard output, so that programs can read it, and all other talk to standard error. */
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { OperationError } from '../operations/error.ts'

export interface CommandOutput {
  data: string
  talk: readonly string[]
}

export function say({ data, talk }: CommandOutput): void {
  process.stdout.write(data)
  for (const line of talk) console.error(line)
}

export const URL_HELP = 'ops address of a gateway to ask (default: GATEWAY_URL, or the store of the config)'

export const DRY = 'nothing was changed: this was a dry run'

/** Output that may be long is written as fast as it is read. */
export async function writeAll(pieces: AsyncIterable<Uint8Array | string>, out: NodeJS.WritableStream): Promise<void> {
  let bytes = 0
  const count = progress(() => `${(bytes / 1e6).toFixed(1)} MB`, out !== process.stdout || !process.stdout.isTTY)
  for await (const piece of pieces) {
    bytes += piece.length
    count.show()
    if (!out.write(piece)) await once(out, 'drain')
  }
  count.end()
}

const SHOWN_EACH_MS = 200

/** How far long work is, in one line of a terminal's standard error; elsewhere nothing is said. */
export function progress(words: () => string, wanted = true): { show(): void; end(): void } {
  let shownMs = performance.now()
  let shown = ''
  const write = (text: string): void => {
    process.stderr.write(`\r${text.padEnd(shown.length)}`)
    shown = text
  }
  return {
    show() {
      const nowMs = performance.now()
      if (!wanted || !process.stderr.isTTY || nowMs - shownMs < SHOWN_EACH_MS) return
      shownMs = nowMs
      write(words())
    },
    end() {
      if (shown !== '') process.stderr.write(`\r${' '.repeat(shown.length)}\r`)
    },
  }
}

/** A command that deletes something asks for its name on a terminal; elsewhere it wants `--yes`. Throws OperationError when the answer is another. */
export async function wantConfirmed(what: string, name: string, yes: boolean): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY) throw new OperationError('invalid', `${what}: without a terminal, say --yes`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const typed = await lines.question(`${what}: this cannot be taken back. Type ${name} to go on: `)
  lines.close()
  if (typed.trim() !== name) throw new OperationError('invalid', 'nothing was deleted')
}

export interface Column {
  name: string
  /** Numbers are aligned at their last digit, and are never cut. */
  right?: boolean
  /** The text is never cut. */
  whole?: boolean
  /** The text names the row, and is cut only when it is much longer than names usually are. */
  isKey?: boolean
}

/** Characters that take two columns of a terminal. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/gu

const width = (text: string): number => [...text].length + (text.match(WIDE)?.length ?? 0)

/**
 * Makes tables for people and programs: on a terminal the columns are aligned under a header, elsewhere they are separated by
 * tabs and have no header. On a narrow terminal texts are cut, and columns that do not fit even then are left out: `…` at the end
 * of the header says so.
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], terminal: boolean): string {
  if (!terminal) return rows.map(row => `${row.map(oneLine).join('\t')}\n`).join('')
  const all = [
    columns.map(({ name }) => name.toUpperCase()),
    ...rows.map(row => row.map(text => shortTime(oneLine(text)))),
  ]
  const widths = columns.map((_, i) => Math.max(...all.map(row => width(row[i]!))))
  const most = process.stdout.columns
  const whole = fitting(widths, columns, most)
  const isCut = whole.length < columns.length
  const kept = isCut ? fitting(widths, columns, most - BETWEEN - 1) : whole
  const room = kept.length < columns.length ? most - BETWEEN - 1 : most
  shrink(widths, columns, kept, room)
  const cell = (row: readonly string[]) => (i: number) => {
    const short = cut(row[i]!, widths[i]!)
    const space = ' '.repeat(widths[i]! - width(short))
    return columns[i]!.right ? space + short : short + space
  }
  const lines = all.map(row => kept.map(cell(row)).join('  ').trimEnd())
  if (isCut) lines[0] += '  …'
  return `${lines.join('\n')}\n`
}

/** Texts of clients and upstreams may hold lines and tabs, and what turns the direction of the rest of the line. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]+/gu, ' ')

/** A time of the API, without its thousandths. */
const shortTime = (text: string): string => text.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z$/, '$1Z')

/** The narrowest that a column of text becomes, so that what is left of a name still tells it from others. */
const NARROWEST = 8
/** The narrowest that a column of names of rows becomes: such names often differ in their last characters. */
const NARROWEST_KEY = 20
const BETWEEN = 2

function narrowest({ right, whole, isKey }: Column, width: number): number {
  if (right || whole) return width
  return Math.min(width, isKey ? NARROWEST_KEY : NARROWEST)
}

/** The columns that find room when texts are cut, the first ones first. `most` undefined: no terminal says its width. */
function fitting(widths: readonly number[], columns: readonly Column[], most: number | undefined): number[] {
  let left = (most ?? Number.POSITIVE_INFINITY) + BETWEEN
  return columns.flatMap((column, i) => {
    const least = narrowest(column, widths[i]!)
    if (i > 0 && least + BETWEEN > left) return []
    left -= least + BETWEEN
    return [i]
  })
}

/** The columns of text that can give most get narrower until those that are kept fit. */
function shrink(widths: number[], columns: readonly Column[], kept: readonly number[], most: number | undefined): void {
  const spare = (i: number) => widths[i]! - narrowest(columns[i]!, widths[i]!)
  let over = kept.reduce((sum, i) => sum + widths[i]! + BETWEEN, -BETWEEN) - (most ?? Number.POSITIVE_INFINITY)
  for (; over > 0; over--) {
    const roomiest = kept.reduce((one, other) => (spare(other) > spare(one) ? other : one))
    if (spare(roomiest) <= 0) return
    widths[roomiest]! -= 1
  }
}

function cut(text: string, most: number): string {
  if (width(text) <= most) return text
  let kept = ''
  for (const character of text) {
    if (width(kept + character) > most - 1) break
    kept += character
  }
  return `${kept}…`
}

/** Lists and maps in one cell, much as options take them. Of a map to the same names, the names are enough. */
export function inCell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value !== 'object') return String(value)
  if (Object.keys(value).length === 0) return '-'
  if (Array.isArray(value)) return value.map(inCell).join(',')
  const { name, kind, id } = value as { name?: unknown; kind?: unknown; id?: unknown }
  if (typeof name === 'string') return name
  return typeof kind === 'string' && typeof id === 'string' ? `${kind} ${id}` : pairs(value)
}

const pairs = (map: object): string =>
  Object.entries(map)
    .map(([name, part]) => (name === part ? name : `${name}: ${inCell(part)}`))
    .join(', ')

const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)
const isToSameNames = (map: object): boolean => Object.entries(map).every(([name, part]) => name === part)

/** A map with more fields is shown below its name, and not behind it. */
const FIELDS_IN_A_LINE = 4

/**
 * The fields of one row: on a terminal their names and values under each other, with a line for each map of a list, and what is
 * longer than a line goes on below; elsewhere a line each, with a tab between, and lists and maps as JSON.
 */
export function details(row: object, terminal: boolean, columns = process.stdout.columns): string {
  const fields = Object.entries(row)
  if (!terminal)
    return fields
      .map(
        ([name, value]) =>
          `${name}\t${isMap(value) || Array.isArray(value) ? JSON.stringify(value) : oneLine(String(value))}\n`,
      )
      .join('')
  const names = Math.max(...fields.map(([name]) => name.length)) + BETWEEN
  const most = Math.max((columns ?? Number.POSITIVE_INFINITY) - names, NARROWEST)
  const shown = fields.map(([name, value]) =>
    isMap(value) && Object.keys(value).length > FIELDS_IN_A_LINE && !isToSameNames(value)
      ? `${name}\n${details(value, true, columns && columns - BETWEEN).replaceAll(/^(?=.)/gm, ' '.repeat(BETWEEN))}`
      : `${name.padEnd(names)}${valueLines(value, most).join(`\n${' '.repeat(names)}`)}\n`,
  )
  return shown.join('')
}

function valueLines(value: unknown, most: number): string[] {
  const parts =
    Array.isArray(value) && value.some(isMap)
      ? value.map(part => (isMap(part) ? pairs(part) : inCell(part)))
      : [isMap(value) && Object.keys(value).length > 0 ? pairs(value) : inCell(value)]
  return parts.flatMap(part => wrapped(shortTime(oneLine(part)), most))
}

/** Lines of at most so many columns, which end at spaces: what has none, such as a link, stays whole, so that it can be copied. */
function wrapped(text: string, most: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<= )/)) {
    if (width(line + word.trimEnd()) <= most) line += word
    else {
      if (line !== '') lines.push(line.trimEnd())
      line = word
    }
  }
  return [...lines, line.trimEnd()]
}

/** A remark for people: on a terminal in as many lines as it needs, each with this indent; elsewhere in one. */
export function remark(text: string, indent: string): string {
  const { isTTY, columns } = process.stdout
  const most = isTTY && columns !== undefined ? columns - indent.length : Number.POSITIVE_INFINITY
  return `${wrapped(oneLine(text), most)
    .map(line => indent + line)
    .join('\n')}\n`
}
