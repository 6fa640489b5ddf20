/** Which models are shown, and in which order. It knows nothing of the page. */
import type { CatalogueModel } from '../../../lib/operations/catalogue/public-catalogue.ts'

/** What people pay for: tokens, pictures, or pieces such as requests and seconds. */
export const KINDS = ['tokens', 'pictures', 'pieces'] as const
export type Kind = (typeof KINDS)[number]

export interface Choice {
  text: string
  /** '' = all. */
  family: string
  vendor: string
  protocol: string
  /** What it takes or gives. */
  modality: string
  /** Tokens of its context, at least. */
  context: string
  kind: string
  available: boolean
}

export const priceOf = ({ price }: CatalogueModel, name: string): string | undefined => price?.lists[0]?.prices[name]

export const imagesOf = ({ price }: Pick<CatalogueModel, 'price'>): Record<string, string> =>
  price?.lists[0]?.images ?? {}

const isKind = (model: CatalogueModel, kind: string): boolean => {
  if (kind === 'tokens') return priceOf(model, 'input') !== undefined
  if (kind === 'pictures') return Object.keys(imagesOf(model)).length > 0
  return ['request', 'second', 'character', 'web_search'].some(name => priceOf(model, name) !== undefined)
}

/** What the model takes and gives, each once. */
export const modalitiesOf = ({ input_modalities, output_modalities }: CatalogueModel): string[] => [
  ...new Set([...(input_modalities ?? []), ...output_modalities]),
]

export function chosen(models: readonly CatalogueModel[], choice: Choice): CatalogueModel[] {
  const words = choice.text.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (model: CatalogueModel) => {
    const text = `${model.name} ${model.family ?? ''} ${model.vendor ?? ''}`.toLowerCase()
    return (
      words.every(word => text.includes(word)) &&
      (choice.family === '' || model.family === choice.family) &&
      (choice.vendor === '' || model.vendor === choice.vendor) &&
      (choice.modality === '' || modalitiesOf(model).includes(choice.modality)) &&
      (choice.context === '' || (model.context ?? 0) >= Number(choice.context)) &&
      (choice.protocol === '' || model.protocols.some(protocol => protocol === choice.protocol)) &&
      (choice.kind === '' || isKind(model, choice.kind)) &&
      (!choice.available || model.state === 'available')
    )
  }
  return models.filter(fits)
}
