/** Turns models and their prices from the form that people write into the form that the store keeps, and back. */
import { toModel } from '../terms/catalog.ts'
import { catalogSchema } from '../terms/config-catalog.ts'
import type { Model } from '../terms/records.ts'
import { decimal } from './decimal.ts'
import { showPrice } from './price-shown.ts'
import { read } from './read.ts'

const modelRow = catalogSchema.shape.models.unwrap().element

export const readModel = (sent: object): Model => toModel(read(modelRow, sent))

export const showModel = ({ name, price, maxOutput, defaultOutput, inputFactor, ...model }: Model): object => ({
  name,
  price: price === null ? null : showPrice(price),
  max_output: maxOutput,
  default_output: defaultOutput,
  input_factor: decimal(inputFactor),
  max_input: model.maxInput,
  media_input: model.mediaInput,
  tool_input: model.toolInput,
  max_searches: model.maxSearches,
  family: model.family,
  offline: model.offline === true || model.offline.length > 0 ? model.offline : false,
})
