/** CSV files: for people, who open them in spreadsheets, and for programs. */
import type { Language } from '../base/people.ts'
import type { Words } from './error.ts'

export const CSV_TYPE = 'text/csv; charset=utf-8'
export const JSON_LINES_TYPE = 'application/x-ndjson; charset=utf-8'

/**
 * A spreadsheet takes a text that begins so for a formula. Some take the wide forms of these characters too, and some pass
 * over blanks before them.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/

/** `foreign`: whether the value is a text that clients, upstreams or people choose, which gets a mark if it could act. */
export function csvCell(value: unknown, foreign: boolean): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = foreign && FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** `foreign`: the texts are chosen by clients, upstreams or people. `head`: for people; without one it is the name. */
export interface CsvColumn<T> {
  name: string
  head?: Words
  foreign?: true
  value: (row: T) => string | number | null | undefined
}

/** `machine`: names of columns that never change; `words`: heads in the reader's language. */
export type Heads = 'words' | 'machine'

/** How a file is written. `language`: that of its heads; null = the names of the columns. */
interface CsvForm {
  mark: string
  lineEnd: string
  language: Language | null
}

export const FOR_PROGRAMS: CsvForm = { mark: '', lineEnd: '\n', language: null }

/** UTF-8 with a byte order mark and CRLF, as spreadsheets want them. */
export const forPeople = (heads: Heads, language: Language): CsvForm => ({
  mark: '\uFEFF',
  lineEnd: '\r\n',
  language: heads === 'machine' ? null : language,
})

/** All pages of a list. `page` reads the one behind a place (null = the first), and says where the next one begins (null = there is none). */
export async function* pagesOf<T, P>(
  page: (after: P | null) => Promise<{ rows: readonly T[]; next: P | null }>,
): AsyncGenerator<readonly T[]> {
  let after: P | null = null
  do {
    const { rows, next }: { rows: readonly T[]; next: P | null } = await page(after)
    yield rows
    after = next
  } while (after !== null)
}

/** Writes the rows of a file in pieces, in one form. */
export class CsvTable<T> {
  readonly #columns: readonly CsvColumn<T>[]
  readonly #form: CsvForm

  constructor(columns: readonly CsvColumn<T>[], form: CsvForm) {
    this.#columns = columns
    this.#form = form
  }

  head(): string {
    const { mark, language } = this.#form
    return (
      mark + this.#line(this.#columns.map(({ name, head }) => csvCell(language && head ? head[language] : name, false)))
    )
  }

  lines(rows: readonly T[]): string {
    const cells = (row: T) => this.#columns.map(({ value, foreign }) => csvCell(value(row), foreign === true))
    return rows.map(row => this.#line(cells(row))).join('')
  }

  /** A whole file. A page of it is asked for when the one before was taken. */
  async *file(pages: AsyncIterable<readonly T[]> | readonly (readonly T[])[]): AsyncGenerator<string> {
    yield this.head()
    let count = 0
    for await (const rows of pages) {
      count += rows.length
      yield this.lines(rows)
    }
    yield this.end(count)
  }

  /** The last line of an export. A file without it has broken off. */
  end(rows: number): string {
    return this.#line([`# rows: ${rows}`])
  }

  #line(cells: readonly string[]): string {
    return cells.join(',') + this.#form.lineEnd
  }
}
