/** Where in the answers of a protocol pictures stand, and what an object in such a place has shown of itself so far. */
import { Patterns } from '../json/patterns.ts'

/** A place in an answer. An array stands for each of its elements. */
export interface Spot {
  /** The members that are looked at. */
  readonly inside?: Readonly<Record<string, Spot>>
  /** An object here is a picture when it has data and its kind matches; `any`: whatever its kind is. */
  readonly picture?: RegExp | 'any'
  /**
   * What the value here is: a string of base64 or a URL (`data`), the name of a kind (`kind`), the size or the quality of
   * the picture, or a flag that marks the object around it as a draft (`draft`).
   */
  readonly role?: 'data' | 'kind' | 'size' | 'quality' | 'draft'
  /** Whether this place repeats what the stream had before. */
  readonly again?: boolean
}

export const DATA: Spot = { role: 'data' }
export const KIND: Spot = { role: 'kind' }
export const SIZE: Spot = { role: 'size' }
export const QUALITY: Spot = { role: 'quality' }

/** How the base64 of a picture begins (PNG, JPEG, GIF, WebP). It is asked for where nothing has named the kind yet. */
const LOOKS_LIKE_PICTURE = /^(iVBORw|\\?\/9j\\?\/|R0lGOD|UklGR\S{6}XRUJQ)/

/** An object or array that is looked into. */
export class Frame {
  readonly spot: Spot
  readonly isArray: boolean
  draft = false
  kind: string | null = null
  size: string | null = null
  quality: string | null = null
  head = ''
  /** How many characters of data the object has. */
  data = 0
  /** How many pictures the closed objects inside have, and how many characters of data. */
  found = 0
  characters = 0

  constructor(spot: Spot, isArray: boolean) {
    this.spot = spot
    this.isArray = isArray
  }

  get isPicture(): boolean {
    const { picture } = this.spot
    if (picture === undefined || this.isArray || this.data === 0) return false
    if (picture === 'any') return true
    return this.kind === null ? LOOKS_LIKE_PICTURE.test(this.head) : picture.test(this.kind)
  }
}

/** Where a protocol has its pictures. */
export class Places {
  readonly root: Spot
  /** Every event with a picture has one of these patterns. Events without any are not read. */
  readonly markers: Patterns

  /** `marker`: a text that is in the name of each member that leads to a picture. */
  constructor(marker: string, root: Spot) {
    this.root = root
    this.markers = new Patterns([marker, '\\u'])
  }
}
