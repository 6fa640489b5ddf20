/** The words of a command: data goes to standard output, so that programs can read it, and all other talk to standard error. */
import { once } from 'node:events'

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
  const all = [columns.map(({ name }) => name.toUpperCase()), ...rows]
  const widths = columns.map((_, i) => Math.max(...all.map(row => width(row[i]!))))
  const cell = (text: string, i: number) => {
    const space = ' '.repeat(widths[i]! - width(text))
    return columns[i]!.right ? space + text : text + space
  }
  return all.map(row => `${row.map(cell).join('  ').trimEnd()}\n`).join('')
}
