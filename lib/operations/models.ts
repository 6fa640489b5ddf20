/** Turns models and their prices from the form that people write into the form that the store keeps, and back. */
import { lacksInput, toModel, WITH_INPUT } from '../terms/catalog.ts'
import { catalogSchema } from '../terms/config-catalog.ts'
import type { Model } from '../terms/records.ts'
import { decimal } from './decimal.ts'
import { OperationError } from './error.ts'
import { read } from './read.ts'

const modelRow = catalogSchema.shape.models.unwrap().element

export function readModel(sent: object): Model {
  const row = read(modelRow, sent)
  if (row.price !== undefined && Object.values(row.price).every(price => price === undefined))
    throw new OperationError('invalid', 'price: expected at least one price')
  if (row.price !== undefined && lacksInput(row.price))
    throw new OperationError('invalid', `price.input: expected ${WITH_INPUT}`)
  return toModel(row)
}

export const showModel = ({ name, price, maxOutput, defaultOutput, inputFactor, ...model }: Model): object => ({
  name,
  price: price === null ? null : Object.fromEntries(Object.entries(price).map(([line, cny]) => [line, decimal(cny)])),
  max_output: maxOutput,
  default_output: defaultOutput,
  input_factor: decimal(inputFactor),
  max_input: model.maxInput,
  media_input: model.mediaInput,
  tool_input: model.toolInput,
  max_searches: model.maxSearches,
})
