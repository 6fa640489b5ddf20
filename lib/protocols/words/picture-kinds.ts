/** Adds up pictures by the size and the quality that an answer reports for them. */
import type { CountedKind, PictureKind } from './usage.ts'

/** No honest answer has pictures of more kinds. What comes later counts as a picture of which nothing is said. */
const MOST_KINDS = 32

export class PictureKinds {
  readonly list: CountedKind[] = []

  /** Pictures of which nothing is said are left out. */
  add({ size, quality }: PictureKind, count = 1): void {
    if ((size === null && quality === null) || count === 0) return
    const same = this.list.find(kind => kind.size === size && kind.quality === quality)
    if (same !== undefined) same.count += count
    else if (this.list.length < MOST_KINDS) this.list.push({ size, quality, count })
  }
}

const LONGEST = 64

/** The kind that an answer says. */
export const kindOf = (size: unknown, quality: unknown): PictureKind => ({ size: name(size), quality: name(quality) })

const name = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST ? value : null
