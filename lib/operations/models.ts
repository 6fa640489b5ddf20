/** Turns models and their prices from the form that people write into the form that the store keeps; says whether one is in use. */
import type { Store } from '../store/store.ts'
import { toModel } from '../config/catalog-rows.ts'
import { catalogSchema } from '../config/catalog-schema.ts'
import type { Model } from '../terms/records.ts'
import { OperationError } from './error.ts'
import { read } from './read.ts'

const modelRow = catalogSchema.shape.models.unwrap().element

export const readModel = (sent: object): Model => toModel(read(modelRow, sent))

/** Throws OperationError `conflict` when channels serve the model: clients that ask for it would be refused from then on. */
export async function checkUnserved(store: Pick<Store, 'catalog'>, model: string): Promise<void> {
  const { channels } = await store.catalog()
  const names = channels.filter(({ models }) => Object.hasOwn(models, model)).map(({ name }) => name)
  if (names.length === 0) return
  throw new OperationError('conflict', `model ${model} is still served by ${names.join(', ')}`, {
    channels: names.join(', '),
  })
}
