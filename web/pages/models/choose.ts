/** Which models are shown, and in which order. It knows nothing of the page. */
import type { CatalogueModel } from '../../../lib/operations/catalogue/public-catalogue.ts'

/** What people pay for: tokens, pictures, or pieces such as requests and seconds. */
export const KINDS = ['tokens', 'pictures', 'pieces'] as const
export type Kind = (typeof KINDS)[number]

export const SORTS = ['name', 'cheapest', 'dearest'] as const
type Sort = (typeof SORTS)[number]

export interface Choice {
  text: string
  /** '' = all. */
  family: string
  protocol: string
  kind: string
  available: boolean
  sort: string
}

export const priceOf = ({ price }: CatalogueModel, name: string): string | undefined => price?.lists[0]?.prices[name]

export const imagesOf = ({ price }: Pick<CatalogueModel, 'price'>): Record<string, string> =>
  price?.lists[0]?.images ?? {}

const isKind = (model: CatalogueModel, kind: string): boolean => {
  if (kind === 'tokens') return priceOf(model, 'input') !== undefined
  if (kind === 'pictures') return Object.keys(imagesOf(model)).length > 0
  return ['request', 'second', 'character', 'web_search'].some(name => priceOf(model, name) !== undefined)
}

/** By what models of one kind are compared; models without it stand last. */
const costOf = (model: CatalogueModel): number => {
  const images = Object.values(imagesOf(model)).map(Number)
  const other = ['input', 'request', 'second', 'character']
    .map(name => priceOf(model, name))
    .find(one => one !== undefined)
  return other !== undefined ? Number(other) : images.length > 0 ? Math.min(...images) : Number.POSITIVE_INFINITY
}

const COMPARE: Record<Sort, (a: CatalogueModel, b: CatalogueModel) => number> = {
  name: () => 0,
  cheapest: (a, b) => costOf(a) - costOf(b) || 0,
  dearest: (a, b) => costOf(b) - costOf(a) || 0,
}

export function chosen(models: readonly CatalogueModel[], choice: Choice): CatalogueModel[] {
  const words = choice.text.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (model: CatalogueModel) => {
    const text = `${model.name} ${model.family ?? ''}`.toLowerCase()
    return (
      words.every(word => text.includes(word)) &&
      (choice.family === '' || model.family === choice.family) &&
      (choice.protocol === '' || model.protocols.some(protocol => protocol === choice.protocol)) &&
      (choice.kind === '' || isKind(model, choice.kind)) &&
      (!choice.available || model.state === 'available')
    )
  }
  return models.filter(fits).sort(COMPARE[SORTS.find(sort => sort === choice.sort) ?? 'name'])
}
