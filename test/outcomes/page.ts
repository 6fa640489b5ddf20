/** Writes the table of `cells.ts` into docs/lifecycle.md: `npm run outcomes`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { type Cell, type Cells, HOW, type Proof, TABLES, WHO, type Who } from './cells.ts'

export const PAGE = new URL('../../docs/lifecycle.md', import.meta.url)
const BEGIN = '<!-- outcomes: written by `npm run outcomes` -->\n'
const END = '<!-- end of outcomes -->\n'

const HEADINGS = { request: 'A request', order: 'An order' } as const

/** The tests that are named, each once, in the order in which the table names them. */
class Proofs {
  readonly #numbers = new Map<string, number>()

  numberOf([file, title]: Proof): number {
    const line = `\`test/${file}\`: ${title.replaceAll('|', '\\|')}`
    const known = this.#numbers.get(line)
    if (known !== undefined) return known
    this.#numbers.set(line, this.#numbers.size + 1)
    return this.#numbers.size
  }

  get list(): string {
    return [...this.#numbers].map(([line, number]) => `${number}. ${line}\n`).join('')
  }
}

function textOf(cell: Cell, proofs: Proofs): string {
  if ('cannot' in cell) return `– ${cell.cannot}`
  return `${cell.pays} ${cell.proofs.map(proof => `[${proofs.numberOf(proof)}]`).join(' ')}`
}

/** States that follow each other and are alike share a row. */
function rowsOf(who: Who, rows: [string, Cells][], proofs: Proofs): string {
  const written: { names: string[]; cells: string }[] = []
  for (const [name, cells] of rows) {
    const text = cells.map(cell => textOf(cell, proofs)).join(' | ')
    const last = written.at(-1)
    if (last?.cells === text) last.names.push(name)
    else written.push({ names: [name], cells: text })
  }
  const lines = written.map(({ names, cells }) => `| ${names.map(name => `\`${name}\``).join(' ')} | ${cells} |\n`)
  return `| state | the ${who} is ${HOW[0]} | ${HOW[1]} | ${HOW[2]} |\n|---|---|---|---|\n${lines.join('')}`
}

export function render(): string {
  const proofs = new Proofs()
  const parts: string[] = []
  for (const [life, rows] of Object.entries(TABLES))
    for (const who of WHO) {
      const heading = `**${HEADINGS[life as keyof typeof HEADINGS]}, and the ${who}**`
      parts.push(
        `${heading}\n\n${rowsOf(
          who,
          Object.entries(rows).map(([name, row]) => [name, row[who]]),
          proofs,
        )}\n`,
      )
    }
  return `${parts.join('')}The tests:\n\n${proofs.list}`
}

/** The page with the table as it is now. */
export function written(page: string): string {
  const [before, rest] = page.split(BEGIN)
  const [, after] = (rest ?? '').split(END)
  if (before === undefined || after === undefined) throw new Error('docs/lifecycle.md has no place for the table')
  return `${before}${BEGIN}\n${render()}\n${END}${after}`
}

if (import.meta.main) writeFileSync(PAGE, written(readFileSync(PAGE, 'utf8')))
