/** Turns models and their prices from the form that people write into the form that the store keeps. */
import { toModel } from '../terms/catalog-rows.ts'
import { catalogSchema } from '../terms/config-catalog.ts'
import type { Model } from '../terms/records.ts'
import { read } from './read.ts'

const modelRow = catalogSchema.shape.models.unwrap().element

export const readModel = (sent: object): Model => toModel(read(modelRow, sent))
