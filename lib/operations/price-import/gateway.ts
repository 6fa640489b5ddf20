/**
 * Price lists in our own forms: a catalogue file, of which only names and prices of models count, or what
 * `GET /admin/prices` and `bin/gateway prices list --json` answer.
 */
import { Source } from '../../config/yaml.ts'
import { OperationError } from '../error.ts'
import { flatPrice, readPrice } from '../price-paths.ts'
import { exact } from './exact.ts'
import { isMap, isPlain, newOffer, type Offer, Problems, type Wanted } from './offer.ts'

export function readGateway(text: string, file: string, wanted: Wanted): Offer[] {
  const source = new Source(text, file, process.env)
  const problems = new Problems(file)
  const document = isMap(source.value) ? source.value : {}
  const key = document['models'] === undefined ? 'data' : 'models'
  const rows = document[key]
  if (!Array.isArray(rows)) problems.add(' models', 'expected a list of models with prices, as a catalogue file has it')
  const offers = new Map<string, Offer>()
  for (const [i, row] of (Array.isArray(rows) ? rows : []).entries()) {
    const model: unknown = isMap(row) ? (row['name'] ?? row['model']) : undefined
    const where = ` ${key}[${i}]`
    if (typeof model !== 'string') problems.add(where, 'expected the name of a model')
    else if (wanted(model)) {
      if (offers.has(model)) problems.add(where, `${model}: expected each model once`)
      const offer = newOffer(model, where)
      offers.set(model, offer)
      const { price } = row as { price?: object }
      if (price !== undefined) read(offer, price, problems)
    }
  }
  problems.throwIfAny()
  return [...offers.values()]
}

function read(offer: Offer, price: object, problems: Problems): void {
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
