/**
 * Prices of pictures by size and quality. A picture is looked up as `size/quality`, then as `size`, then as `default`.
 * A size or quality that nobody says, or that is `auto`, is one that the upstream chooses: such a picture costs the
 * dearest that it can be. Sizes and qualities are compared without regard to capitals.
 */
import type { PictureKind } from '../protocols/words/usage.ts'
import type { PriceList, Sizes } from '../terms/records.ts'

const DEFAULT = 'default'

const said = (name: string | null): string | null => {
  const lower = name?.toLowerCase()
  return lower === undefined || lower === '' || lower === 'auto' ? null : lower
}

/** What the answer says counts; what it does not say is as it was asked for. */
export const reportedElse = (reported: PictureKind, asked: PictureKind): PictureKind => ({
  size: said(reported.size) ?? asked.size,
  quality: said(reported.quality) ?? asked.quality,
})

export class Pictures {
  readonly #prices: ReadonlyMap<string, number>
  /** Of all prices that are listed. */
  readonly dearest: number

  constructor(sizes: Sizes) {
    this.#prices = new Map(Object.entries(sizes).map(([name, price]) => [name.toLowerCase(), price]))
    this.dearest = Math.max(...this.#prices.values())
  }

  /** By their names, in lower case. */
  get listed(): ReadonlyMap<string, number> {
    return this.#prices
  }

  /** The price of such a picture; null = none is listed. */
  find(kind: PictureKind): number | null {
    const [size, quality] = [said(kind.size), said(kind.quality)]
    if (size === null) return this.dearest
    const other = this.#prices.get(DEFAULT) ?? null
    if (quality === null) return this.#dearestOf(size) ?? other
    return this.#prices.get(`${size}/${quality}`) ?? this.#prices.get(size) ?? other
  }

  /** The most that a picture can cost that is asked for in this way. */
  most(kind: PictureKind): number {
    const size = said(kind.size)
    const found = this.find(kind) ?? this.dearest
    if (size === null || said(kind.quality) !== null || this.#prices.has(size)) return found
    // the upstream may choose a quality that is not listed for the size, which costs as `default`
    return Math.max(found, this.#prices.get(DEFAULT) ?? 0)
  }

  /** A quality was asked for that is not listed, at a size that is. */
  hasSize(kind: PictureKind): boolean {
    const size = said(kind.size)
    return size !== null && this.#dearestOf(size) !== null
  }

  #dearestOf(size: string): number | null {
    let dearest: number | null = null
    for (const [name, price] of this.#prices)
      if (name === size || name.startsWith(`${size}/`)) dearest = Math.max(dearest ?? 0, price)
    return dearest
  }
}

/** Where an entry of `over` has one price for all pictures it replaces all; a map replaces the sizes that it names. */
export function compilePictures(base: PriceList, entry: PriceList | null): Pictures | null {
  if (base.image === undefined) return null
  const own = entry?.image
  if (typeof own === 'number') return new Pictures({ [DEFAULT]: own })
  return new Pictures(own === undefined ? sizesOf(base.image) : { ...sizesOf(base.image), ...sizesOf(own) })
}

function sizesOf(image: NonNullable<PriceList['image']>): Sizes {
  if (typeof image === 'number') return { [DEFAULT]: image }
  return typeof image.sizes === 'object' ? image.sizes : (image as Sizes)
}
