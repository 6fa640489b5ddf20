/** The LRU cache that all bounded memories use. */
import { LRUCache } from 'lru-cache'

/**
 * Makes an LRU cache of at most `max` entries. `dispose` is called for each entry that leaves it, with why. With its option
 * `max`, the library would allocate arrays for all entries at once, through which every garbage collection has to walk.
 * So each entry gets the size 1 and the bound is `maxSize`: then the memory grows with the entries.
 */
export const latest = <K extends {}, V extends {}>(
  max: number,
  dispose?: (value: V, key: K, why: LRUCache.DisposeReason) => void,
): LRUCache<K, V> =>
  new Latest<K, V>({ maxSize: max, sizeCalculation: () => 1, ...(dispose === undefined ? {} : { dispose }) })

/** Makes an LRU cache whose values take at most so many bytes. */
export const heaviest = <K extends {}, V extends {}>(maxBytes: number, bytesOf: (value: V) => number): LRUCache<K, V> =>
  new Latest<K, V>({ maxSize: maxBytes, sizeCalculation: bytesOf })

/** The library makes an object for each `get` without options. */
class Latest<K extends {}, V extends {}> extends LRUCache<K, V> {
  readonly #asUsual = {}

  override get(key: K): V | undefined {
    return super.get(key, this.#asUsual)
  }
}
