/**
 * Price lists in forms of our own: a catalogue file, of which only names and prices of models count, or what
 * `GET /admin/prices` and `bin/gateway prices list --json` answer; and CSV: a header line with `model` and the paths of prices
 * (`input`, `over.200000.input`, `tiers.flex` …), then a line for each model, where an empty cell is no price.
 */
import { ConfigError, Source } from '../../config/yaml.ts'
import { FEES, TOKEN_CLASSES } from '../../protocols/words/usage.ts'
import { OperationError } from '../error.ts'
import { exact, type ListedPrice, Problems, type IsWanted, isPlain, newListedPrice } from './listed-price.ts'
import { isMap } from '../read.ts'
import { flatPrice, readPrice } from './prices.ts'

export function readGateway(text: string, file: string, wanted: IsWanted): ListedPrice[] {
  const source = new Source(text, file, {}, {}) // a list may come from anywhere: no variable and no file is read for it
  const problems = new Problems(file)
  const document = isMap(source.value) ? source.value : {}
  const key = document['models'] === undefined ? 'data' : 'models'
  const rows = document[key]
  if (!Array.isArray(rows)) problems.add(' models', 'expected a list of models with prices, as a catalogue file has it')
  const offers = new Map<string, ListedPrice>()
  for (const [i, row] of (Array.isArray(rows) ? rows : []).entries()) {
    const model: unknown = isMap(row) ? (row['name'] ?? row['model']) : undefined
    const where = ` ${key}[${i}]`
    if (typeof model !== 'string') problems.add(where, 'expected the name of a model')
    else if (wanted(model)) {
      if (offers.has(model)) problems.add(where, `${model}: expected each model once`)
      const offer = newListedPrice(model, where)
      offers.set(model, offer)
      const { price } = row as { price?: object }
      if (price !== undefined) read(offer, price, problems)
    }
  }
  problems.throwIfAny()
  return [...offers.values()]
}

function read(offer: ListedPrice, price: object, problems: Problems): void {
  try {
    for (const [path, amount] of flatPrice(readPrice(price))) {
      if (isPlain(path)) offer.plain.set(path, amount)
      else offer.amounts.set(path, exact(amount)!)
    }
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    problems.add(`${offer.where}.price`, error.message)
  }
}

interface Line {
  /** Counted from 1. */
  number: number
  cells: string[]
}

const MOST_COLUMNS = 200
const PRICE = [...TOKEN_CLASSES, ...FEES].join('|')
const COLUMN = new RegExp(
  `^(?:(?:over\\.[1-9]\\d*\\.)?(?:${PRICE}|image\\..+)|tiers\\..+|maps|container\\..+|code_execution|tools\\..+|search_unit)$`,
)

/** One cell and what ends it. */
const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y

function parseCsv(text: string, file: string): Line[] {
  const lines: Line[] = []
  let number = 1
  let line: Line = { number, cells: [] }
  for (CELL.lastIndex = text.startsWith('\uFEFF') ? 1 : 0; CELL.lastIndex < text.length; ) {
    const at = CELL.lastIndex
    const m = CELL.exec(text)
    if (m === null || line.cells.length > MOST_COLUMNS)
      throw new ConfigError([`${file}:${number}: expected cells between commas, quoted as "a ""b"""`])
    line.cells.push(m[1] === undefined ? m[2]!.trim() : m[1].replaceAll('""', '"'))
    number += text.slice(at, CELL.lastIndex).split('\n').length - 1
    if (m[3] === ',' && CELL.lastIndex < text.length) continue
    if (m[3] === ',') line.cells.push('')
    if (line.cells.some(cell => cell !== '')) lines.push(line)
    line = { number, cells: [] }
  }
  return lines
}

export function readCsv(text: string, file: string, wanted: IsWanted): ListedPrice[] {
  const [header, ...rows] = parseCsv(text, file)
  const problems = new Problems(file)
  const columns = header?.cells ?? []
  if (!columns.includes('model')) problems.add('1', 'expected a column "model"')
  for (const [i, column] of columns.entries()) {
    if (column !== 'model' && !COLUMN.test(column))
      problems.add(
        '1',
        `${column === '' ? `column ${i + 1}` : column}: expected model, ${PRICE.replaceAll('|', ', ')}, maps, container.SIZE, code_execution, tools.NAME, search_unit, image.SIZE, tiers.NAME or over.TOKENS.PRICE`,
      )
    if (columns.indexOf(column) < i) problems.add('1', `${column}: expected each column once`)
  }
  problems.throwIfAny()
  const offers = new Map<string, ListedPrice>()
  for (const { number, cells } of rows) {
    const model = cells[columns.indexOf('model')] ?? ''
    if (cells.length > columns.length) problems.add(String(number), `expected ${columns.length} cells`)
    if (model === '') problems.add(String(number), 'expected the name of a model')
    if (!wanted(model)) continue
    if (offers.has(model)) problems.add(String(number), `${model}: expected each model once`)
    const offer = newListedPrice(model, String(number))
    offers.set(model, offer)
    for (const [i, cell] of cells.entries()) {
      const column = columns[i] ?? 'model'
      if (column === 'model' || cell === '') continue
      const amount = exact(cell)
      if (isPlain(column)) offer.plain.set(column, cell)
      else if (amount !== null) offer.amounts.set(column, amount)
      else problems.add(String(number), `${column}: expected a decimal number, 0 or more`)
    }
  }
  problems.throwIfAny()
  return [...offers.values()]
}
