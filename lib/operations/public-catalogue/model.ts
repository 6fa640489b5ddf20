/** A model as people see it in the catalogue: nothing stands here that nobody may know. */
import type { ImageForm, Protocol } from '../../terms/records.ts'
import type { Offer } from '../../world/offers.ts'
import type { Figures } from './figures.ts'
import { type ShownPrice, shownPrice } from './price.ts'

/**
 * `offline`: an operator has taken it out of service for a while. `resting`: all its upstreams failed lately, and are
 * left alone for a moment. `unpriced`: it has no price, so it cannot be used.
 */
export const MODEL_STATES = ['available', 'offline', 'resting', 'unpriced'] as const
export type ModelState = (typeof MODEL_STATES)[number]

export interface CatalogueModel {
  name: string
  family: string | null
  /** Those that the group offers it with, and that its price covers. */
  protocols: Protocol[]
  /** Those of them that are served by translation. */
  translated: Protocol[]
  state: ModelState
  /** Since when it is offline; null = it is not, or that is not known. */
  since: string | null
  price: ShownPrice | null
  /** In tokens; null = not known. */
  max_output: number | null
  max_input: number
  /** In which form pictures come; null = not known, or it makes none. */
  image_form: ImageForm | null
  figures: { day: Figures; week: Figures }
}

const stateOf = ({ price, offline, channels }: Offer, resting: ReadonlySet<string>): ModelState => {
  if (price === null) return 'unpriced'
  if (offline) return 'offline'
  return channels.flat().every(channel => resting.has(channel)) ? 'resting' : 'available'
}

/** The row of a model, but for its figures. `resting`: the names of the channels that rest. */
export function rowOf(offer: Offer, resting: ReadonlySet<string>): Omit<CatalogueModel, 'figures'> {
  const { model, protocols, translated, price, sinceMs } = offer
  return {
    name: model.name,
    family: model.family,
    protocols: [...protocols],
    translated: [...translated],
    state: stateOf(offer, resting),
    since: sinceMs === null ? null : new Date(sinceMs).toISOString(),
    price: price === null ? null : shownPrice(price),
    max_output: model.maxOutput,
    max_input: model.maxInput,
    image_form: model.imageForm,
  }
}
