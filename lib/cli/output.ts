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

/** What may be long goes out as fast as it is taken. */
export async function writeAll(pieces: AsyncIterable<Uint8Array | string>, out: NodeJS.WritableStream): Promise<void> {
  for await (const piece of pieces) if (!out.write(piece)) await once(out, 'drain')
}

/** What destroys asks on a terminal for the name of what goes; elsewhere it wants `--yes`. Throws OperationError when the answer is another. */
export async function wantConfirmed(what: string, name: string, yes: boolean): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY) throw new OperationError('invalid', `${what}: without a terminal, say --yes`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const typed = await lines.question(`${what}: this cannot be taken back. Type ${name} to go on: `)
  lines.close()
  if (typed.trim() !== name) throw new OperationError('invalid', 'nothing was deleted')
}

/**
 * Makes tables for people and programs: on a terminal the columns are aligned under a header, elsewhere they are separated by
 * tabs and have no header.
 */

export interface Column {
  name: string
  /** Numbers are aligned at their last digit. */
  right?: boolean
}

/** Characters that take two columns of a terminal. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/gu

const width = (text: string): number => [...text].length + (text.match(WIDE)?.length ?? 0)

export function table(columns: readonly Column[], rows: readonly (readonly string[])[], terminal: boolean): string {
  if (!terminal) return rows.map(row => `${row.join('\t')}\n`).join('')
  const all = [columns.map(({ name }) => name.toUpperCase()), ...rows.map(row => row.map(shortTime))]
  const widths = shrunk(
    columns.map((_, i) => Math.max(...all.map(row => width(row[i]!)))),
    columns,
    process.stdout.columns,
  )
  const cell = (text: string, i: number) => {
    const short = cut(text, widths[i]!)
    const space = ' '.repeat(widths[i]! - width(short))
    return columns[i]!.right ? space + short : short + space
  }
  return all.map(row => `${row.map(cell).join('  ').trimEnd()}\n`).join('')
}

/** A time of the API, without its thousandths. */
const shortTime = (text: string): string => text.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{3}Z$/, '$1Z')

/** The narrowest that a column of text becomes, so that what is left of a name still tells it from others. */
const NARROWEST = 8
const BETWEEN = 2

/** The widest columns of text get narrower until the table fits the terminal; numbers are never cut. `most` undefined: no terminal. */
function shrunk(widths: number[], columns: readonly Column[], most: number | undefined): number[] {
  const total = () => widths.reduce((sum, one) => sum + one + BETWEEN, -BETWEEN)
  while (most !== undefined && total() > most) {
    const texts = widths.map((one, i) => (columns[i]!.right ? 0 : one))
    const widest = texts.indexOf(Math.max(...texts))
    if (texts[widest]! <= NARROWEST) break
    widths[widest]! -= 1
  }
  return widths
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
